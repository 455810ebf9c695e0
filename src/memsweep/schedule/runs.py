"""The record of background collections: the last runs, as every process of a home reads and writes them. Pure.

It is a file beside the workspaces that anything may have happened to. What cannot be read is left out, and never keeps
the schedule from running.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memsweep.model.times import CLOCK_TOLERANCE, iso

MOST_RUNS = 50
_COUNTS = ("deleted_memories", "deleted_chunks", "deleted_entities", "deleted_relations", "purged_memories")


@dataclass(frozen=True, slots=True)
class Run:
    """When a run ended, and what it did in each workspace."""

    at: datetime
    outcomes: tuple[Mapping[str, Any], ...]

    @property
    def has_removed(self) -> bool:
        return any(outcome[name] for outcome in self.outcomes for name in _COUNTS)

    def shown(self) -> dict[str, Any]:
        return {"last_run": iso(self.at), "outcomes": [dict(outcome) for outcome in self.outcomes]}


def read_runs(text: str) -> list[Run]:
    """The runs of a record, in the order in which they were written; what makes no sense is passed over."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, dict):
        return []
    listed = found.get("runs", [found])  # earlier versions kept one run
    return [run for item in listed if (run := _run(item))] if isinstance(listed, list) else []


def write_runs(runs: Iterable[Run]) -> str:
    return json.dumps({"runs": [run.shown() for run in runs]}, ensure_ascii=False, indent=1)


def with_run(runs: Sequence[Run], run: Run) -> list[Run]:
    """The record with one run more; of too many the oldest go, but never the last that removed something."""
    kept = [*runs, run][-MOST_RUNS:]
    removed = last_removal([*runs, run])
    return kept if removed is None or removed in kept else [removed, *kept[1:]]


def last_removal(runs: Sequence[Run]) -> Run | None:
    return next((run for run in reversed(runs) if run.has_removed), None)


def has_run(runs: Sequence[Run], due: datetime, now: datetime) -> bool:
    """Return whether a run was made since it was due. One in the future was dated by a clock that was wrong."""
    return bool(runs) and due <= runs[-1].at <= now + CLOCK_TOLERANCE


def expected_memories(runs: Sequence[Run]) -> dict[str, int]:
    """Return the memories of each workspace after the last run that counted them and was not stopped."""
    outcomes = [outcome for run in runs for outcome in run.outcomes]
    return {
        each["workspace_id"]: each["expected_memories"] for each in outcomes if each["expected_memories"] is not None
    }


def _run(item: Any) -> Run | None:
    if not isinstance(item, dict) or not isinstance(item.get("last_run"), str):
        return None
    try:
        at = datetime.fromisoformat(item["last_run"])
    except ValueError:
        return None
    outcomes = item.get("outcomes")
    if at.tzinfo is None or not isinstance(outcomes, list):
        return None
    return Run(at, tuple(outcome for each in outcomes if (outcome := _outcome(each))))


def _outcome(item: Any) -> dict[str, Any] | None:
    if not isinstance(item, dict) or not isinstance(item.get("workspace_id"), str):
        return None
    receipts, stopped, after = (item.get(name) for name in ("receipts", "stopped", "memories_after"))
    expected = item.get("expected_memories", after)  # earlier versions kept it there
    return {
        "workspace_id": item["workspace_id"],
        **{name: value if isinstance(value := item.get(name), int) else 0 for name in _COUNTS},
        "receipts": [each for each in receipts if isinstance(each, str)] if isinstance(receipts, list) else [],
        "stopped": stopped if isinstance(stopped, str) else "",
        "memories_after": after if isinstance(after, int) else None,
        "expected_memories": expected if isinstance(expected, int) else None,
    }
