"""The plan: exactly which segments would go, why, and what could not be freed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from memsweep.errors import BadInput
from memsweep.model.segment import PruningCandidate
from memsweep.model.text import counted


@dataclass(frozen=True)  # without slots, so that the ids are put together once
class PruningPlan:
    """The segments that go, in the order of going; `shortfall` is how many tokens short of the target it stays."""

    candidates: tuple[PruningCandidate, ...]
    total_tokens_freed: int
    stash_segments: tuple[str, ...]
    delete_segments: tuple[str, ...]
    reason: str
    shortfall: int = 0

    @cached_property
    def segment_ids(self) -> frozenset[str]:
        """Everything that goes."""
        return frozenset(candidate.segment_id for candidate in self.candidates)


def prune_order(candidates: Iterable[PruningCandidate]) -> list[PruningCandidate]:
    """Unreachable before reachable, then the lowest score first; ties keep their order."""
    return sorted(candidates, key=lambda candidate: (candidate.reachable, candidate.keep_score))


def plan_to_free(
    candidates: Iterable[PruningCandidate], target_tokens: int, *, confirm_delete: bool = False
) -> PruningPlan:
    """Free at least the target with what deserves least to stay; deletes are stashed unless confirmed.

    Where an order does not depend on the target, a smaller target never keeps fewer tokens.
    """
    if target_tokens < 0:
        raise BadInput("target_tokens cannot be negative.")
    ordered = prune_order(candidates)
    kept = _kept(ordered, sum(candidate.tokens for candidate in ordered) - target_tokens) if target_tokens else None
    taken = [] if kept is None else [each for each in ordered if each.segment_id not in kept]
    if not confirm_delete:
        taken = [c._replace(action="stash") if c.action == "delete" else c for c in taken]
    freed = sum(candidate.tokens for candidate in taken)
    shortfall = max(0, target_tokens - freed)
    return PruningPlan(
        candidates=tuple(taken),
        total_tokens_freed=freed,
        stash_segments=tuple(c.segment_id for c in taken if c.action != "delete"),
        delete_segments=tuple(c.segment_id for c in taken if c.action == "delete"),
        reason=_explain(taken, freed, target_tokens, shortfall),
        shortfall=shortfall,
    )


def _kept(ordered: Sequence[PruningCandidate], room: int) -> set[str]:
    """Fill the room with the best first: whatever fits stays, if what must stay beside it does.

    What must stay beside a candidate never comes after it in this order (see `beside.settled`), so nothing that goes
    could be put back.
    """
    room, kept = max(0, room), set[str]()
    present = {candidate.segment_id for candidate in ordered}
    for candidate in reversed(ordered):
        if candidate.tokens <= room and present.intersection(candidate.beside) <= kept:
            room -= candidate.tokens
            kept.add(candidate.segment_id)
    return kept


def _explain(taken: Sequence[PruningCandidate], freed: int, target: int, shortfall: int) -> str:
    if not taken and not shortfall:
        return "Nothing needs to go."
    unreachable = sum(1 for candidate in taken if not candidate.reachable)
    text = (
        f"{counted(len(taken), 'segment')} {'frees' if len(taken) == 1 else 'free'} {freed} of {target} tokens:"
        f" {unreachable} unreachable, {len(taken) - unreachable} reachable but least worth keeping."
    )
    if shortfall:
        text += f" {counted(shortfall, 'token')} could not be freed: everything left is a root."
    return text
