"""The automatic part of a collection: when it is due, what a small step takes, how survivors age."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeVar

from memsweep.context.beside import bound_by, companions, settled
from memsweep.context.engine import GCEngine, score_parts
from memsweep.context.plan import prune_order
from memsweep.context.reading import Lexicon
from memsweep.context.references import WeakLinks
from memsweep.context.roots import Focus, hard_reason, soft_reason, user_ends
from memsweep.context.supersede import find_replacements
from memsweep.errors import BadInput
from memsweep.model.segment import ContextSegment, Generation, PruningCandidate

T = TypeVar("T")

FULL_SHARE = 0.9
"""A full collection starts at this share of the hard limit."""
FULL_PAUSE = 20
"""If roots alone fill the window, the next full collection waits for this part of the hard limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When the heap collects, and how much at a time."""

    soft_tokens: int = 100_000
    hard_tokens: int = 200_000
    changes_per_step: int = 20
    step_segments: int = 64
    batch_min: int = 5
    batch_max: int = 20
    old_after: int = 2

    def __post_init__(self) -> None:
        if not 0 < self.soft_tokens <= self.hard_tokens:
            raise BadInput("The soft limit must be above zero and not above the hard limit.")
        if not 0 < self.batch_min <= self.batch_max:
            raise BadInput("batch_min must be above zero and not above batch_max.")
        if min(self.changes_per_step, self.step_segments, self.old_after) < 1:
            raise BadInput("changes_per_step, step_segments and old_after must be above zero.")


def due(limits: Limits, tokens: int, changes: int, new: int, full_from: int) -> Literal["full", "step"] | None:
    """Return the step that `new` of `changes` call for: full near the hard limit, else a small one now and then."""
    if tokens >= max(full_from, FULL_SHARE * limits.hard_tokens):
        return "full"
    steps = changes // limits.changes_per_step > (changes - new) // limits.changes_per_step
    return "step" if steps or tokens > limits.soft_tokens else None


def next_full(limits: Limits, tokens: int) -> int:
    """From how many tokens on another full collection may find more than the last one."""
    return tokens + limits.hard_tokens // FULL_PAUSE


def to_examine(limits: Limits, take_turns: Callable[[int, Generation], list[T]]) -> list[T]:
    """Return the segments for a small step: first the young, then as many of the old in turn that all come round."""
    young = take_turns(limits.step_segments - limits.step_segments // 4, "young")
    return young + take_turns(limits.step_segments - len(young), "old")


def judge_few(
    engine: GCEngine,
    examined: Sequence[ContextSegment],
    focus: Focus,
    *,
    now: datetime,
    recent: Collection[str],
    referenced: Collection[str],
    lexicon: Lexicon,
    weak: WeakLinks,
) -> list[PruningCandidate]:
    """Score a few without marking them all: what a live segment refers to is left for a full collection."""
    replaced = find_replacements(examined)
    # Whatever is the first or the last message of the user in the window, is so among these.
    ends = {each.segment_id for each in user_ends(examined)} if focus.last_n else set()
    beside, calls = companions(examined, replaced)
    found = []
    for segment in examined:
        own = segment.segment_id
        held = hard_reason(segment, focus) or soft_reason(segment, focus, now=now, recent=recent)
        if held or own in referenced or own in ends:
            continue
        parts = score_parts(
            segment,
            engine.weights,
            now=now,
            information=lexicon.information(segment),
            weak=weak.count(segment),
            redundancy=replaced[own].redundancy if own in replaced else 0.0,
        )
        judged = engine.candidate(segment, parts, False, replaced.get(own))
        found.append(judged._replace(beside=beside.get(own, ())))
    bound = bound_by(examined, {each.segment_id for each in found}, beside)
    return settled([each for each in found if each.segment_id not in bound], calls)


def choose_batch(candidates: Sequence[PruningCandidate], excess: int, limits: Limits) -> list[PruningCandidate]:
    """A few more than needed, so that the next segment does not start the next step.

    What must stay beside another one goes only with it: the lower scores, which go first, see to that.
    """
    batch: list[PruningCandidate] = []
    for candidate in prune_order(candidates)[: limits.batch_max]:
        if excess <= 0 and len(batch) >= limits.batch_min:
            break
        batch.append(candidate)
        excess -= candidate.tokens
    return batch


def survived(segment: ContextSegment, limits: Limits) -> ContextSegment:
    """A segment after a collection that it outlived."""
    count = segment.gc_survival_count + 1
    old = segment.generation == "old" or count >= limits.old_after
    return replace(segment, gc_survival_count=count, generation="old" if old else "young")
