"""The plan: exactly which segments would go, why, and what could not be freed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memsweep.errors import BadInput
from memsweep.model.segment import PruningCandidate


@dataclass(frozen=True, slots=True)
class PruningPlan:
    """What goes, in the order of going; `shortfall` is how many tokens short of the target it stays."""

    candidates: tuple[PruningCandidate, ...]
    total_tokens_freed: int
    stash_segments: tuple[str, ...]
    delete_segments: tuple[str, ...]
    reason: str
    shortfall: int = 0

    @property
    def segment_ids(self) -> frozenset[str]:
        """Everything that goes."""
        return frozenset(candidate.segment_id for candidate in self.candidates)


def prune_order(candidates: Iterable[PruningCandidate]) -> list[PruningCandidate]:
    """Unreachable before reachable, then the lowest score first; ties keep their order."""
    return sorted(candidates, key=lambda candidate: (candidate.reachable, candidate.keep_score))


def plan_to_free(
    candidates: Iterable[PruningCandidate], target_tokens: int, *, confirm_delete: bool = False
) -> PruningPlan:
    """Free at least the target with what deserves least to stay; deletes are stashed unless confirmed."""
    if target_tokens < 0:
        raise BadInput("target_tokens cannot be negative.")
    taken, freed = _take(prune_order(candidates), target_tokens)
    if freed > target_tokens:
        taken, freed = _give_back(taken, freed, freed - target_tokens)
    if not confirm_delete:
        taken = [c._replace(action="stash") if c.action == "delete" else c for c in taken]
    shortfall = max(0, target_tokens - freed)
    return PruningPlan(
        candidates=tuple(taken),
        total_tokens_freed=freed,
        stash_segments=tuple(c.segment_id for c in taken if c.action != "delete"),
        delete_segments=tuple(c.segment_id for c in taken if c.action == "delete"),
        reason=_explain(taken, freed, target_tokens, shortfall),
        shortfall=shortfall,
    )


def _take(ordered: Sequence[PruningCandidate], target: int) -> tuple[list[PruningCandidate], int]:
    taken: list[PruningCandidate] = []
    freed = 0
    for candidate in ordered:
        if freed >= target:
            break
        if candidate.tokens:
            taken.append(candidate)
            freed += candidate.tokens
    return taken, freed


def _give_back(taken: list[PruningCandidate], freed: int, spare: int) -> tuple[list[PruningCandidate], int]:
    """The last one taken often frees too much: spare the best that fit into the difference.

    Nothing unreachable is spared while something reachable goes.
    """
    kept: set[str] = set()
    reachable_goes = False
    for candidate in reversed(taken):
        if spare <= 0 or (reachable_goes and not candidate.reachable):
            break
        if candidate.tokens <= spare:
            spare -= candidate.tokens
            freed -= candidate.tokens
            kept.add(candidate.segment_id)
        elif candidate.reachable:
            reachable_goes = True
    return [c for c in taken if c.segment_id not in kept], freed


def _explain(taken: Sequence[PruningCandidate], freed: int, target: int, shortfall: int) -> str:
    if not taken and not shortfall:
        return "Nothing needs to go."
    unreachable = sum(1 for candidate in taken if not candidate.reachable)
    text = (
        f"{len(taken)} segments free {freed} of {target} tokens:"
        f" {unreachable} unreachable, {len(taken) - unreachable} reachable but least worth keeping."
    )
    if shortfall:
        text += f" {shortfall} tokens could not be freed: everything left is a root."
    return text
