"""Make the policy of a context window: limits and focus, from settings and from what callers said, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

from memsweep.context.references import plain_path
from memsweep.context.roots import Focus
from memsweep.context.segment import read_pair, read_texts
from memsweep.context.step import Limits
from memsweep.context.weights import Weights
from memsweep.errors import BadInput, BadSetting
from memsweep.model.segment import ContextSegment
from memsweep.model.text import check_text

CONFIGURABLE = ("soft_tokens", "hard_tokens", "changes_per_step", "batch", "last_n", "decision_minutes")
DESCRIPTORS = ("active_file", "line_range", "open_files", "recently_edited")
MOST = 2**53
"""Larger numbers are mistakes, and some readers of JSON cannot hold them."""
LEAST_BATCH = Limits().batch_min
_MAX_LABEL_BYTES = 4096
_LABELS = ("segment_id", "file_path", "topic_id", "task_id")
_NUMBERS = ("tokens", "refcount", "gc_survival_count")


@dataclass(frozen=True, slots=True)
class Policy:
    """When and how much is collected, and what is in focus."""

    limits: Limits
    focus: Focus


def policy_of(config: Mapping[str, Any], focus: Mapping[str, Any]) -> Policy:
    """The policy of a window from all its numbers and from what was said of the agent's work."""
    for name in CONFIGURABLE:
        least = 0 if name in ("last_n", "decision_minutes") else 1
        if type(config[name]) is not int or not least <= config[name] < MOST:
            raise BadInput(f"{name} must be a whole number from {least} up, not {config[name]!r:.40}.")
    if config["soft_tokens"] > config["hard_tokens"]:
        raise BadInput(f"soft_tokens {config['soft_tokens']} is above hard_tokens {config['hard_tokens']}.")
    batch = config["batch"]
    limits = Limits(
        soft_tokens=config["soft_tokens"],
        hard_tokens=config["hard_tokens"],
        changes_per_step=config["changes_per_step"],
        batch_min=min(LEAST_BATCH, batch),
        batch_max=batch,
    )
    in_focus = Focus(
        task_id=focus.get("task_id"),
        active_file=None if focus.get("active_file") is None else plain_path(focus["active_file"]),
        line_range=read_pair(focus["line_range"]) if focus.get("line_range") else None,
        open_files=frozenset(map(plain_path, focus.get("open_files", ()))),
        recently_edited=frozenset(map(plain_path, focus.get("recently_edited", ()))),
        last_n=config["last_n"],
        decision_window=timedelta(minutes=min(config["decision_minutes"], 10**8)),
    )
    return Policy(limits, in_focus)


def updated_focus(
    known: Mapping[str, Any], task_id: str | None, descriptors: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the focus of the agent with the news; an empty task ends the task, left out means as before."""
    focus = dict(known)
    if task_id is not None:
        focus["task_id"] = check_text(task_id, "task_id", max_bytes=_MAX_LABEL_BYTES) if task_id else None
    if descriptors is None:
        return focus
    if unknown := sorted(set(descriptors) - set(DESCRIPTORS)):
        raise BadInput(f"descriptors have no {unknown[0]!r:.60}.", hint=f"They have {', '.join(DESCRIPTORS)}.")
    focus = {"task_id": focus.get("task_id")}
    if (path := descriptors.get("active_file")) is not None:
        focus["active_file"] = check_text(path, "active_file", max_bytes=_MAX_LABEL_BYTES)
    if (lines := descriptors.get("line_range")) is not None:
        focus["line_range"] = list(read_pair(lines))
    for name in ("open_files", "recently_edited"):
        if (paths := descriptors.get(name)) is not None:
            focus[name] = [check_text(each, name, max_bytes=_MAX_LABEL_BYTES) for each in read_texts(paths, name)]
    return focus


def weights_with(changed: Mapping[str, float]) -> Weights:
    """The default weights but for those that the settings change."""
    weights = Weights()
    known = [field.name for field in fields(Weights) if isinstance(getattr(weights, field.name), int | float)]
    for name, value in changed.items():
        if name not in known:
            raise BadSetting(f"the setting context.weights.{name} is unknown.", hint=f"Known: {', '.join(known)}.")
        if not -1e6 < value < 1e6:
            raise BadSetting(f"context.weights.{name} {value} is not a weight.")
    return replace(weights, **changed)  # type: ignore[arg-type]  # only numbers, as checked


def check_storable(segment: ContextSegment) -> ContextSegment:
    """Return the segment if a store can give it back unchanged: text without surprises, numbers of a sane size."""
    what = f"segment {segment.segment_id!r:.60}"
    check_text(segment.text, f"the text of {what}")
    labels = [getattr(segment, name) for name in _LABELS if getattr(segment, name) is not None]
    for label in (*labels, *segment.tags, *segment.references):
        check_text(label, f"a name in {what}", max_bytes=_MAX_LABEL_BYTES)
    for number in (*(getattr(segment, name) for name in _NUMBERS), *(segment.line_range or ())):
        if not 0 <= number < MOST:
            raise BadInput(f"{number} is not a count, in {what}.")
    return segment
