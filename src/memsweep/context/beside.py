"""Find the companions of a segment that stays: the call of a result, and whatever replaced it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import nextafter

from memsweep.context.supersede import Replacement, newest_reads
from memsweep.model.segment import ContextSegment, PruningCandidate


def companions(
    segments: Sequence[ContextSegment], replaced: Mapping[str, Replacement]
) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    """Return the companions of each segment, and the segments that are calls. A call itself needs none."""
    speakers = {segment.segment_id for segment in segments if segment.role == "assistant"}
    beside: dict[str, tuple[str, ...]] = {}
    calls: set[str] = set()
    for segment in segments:
        if segment.role == "tool" and (made := tuple(own for own in segment.references if own in speakers)):
            beside[segment.segment_id] = made
            calls.update(made)
    newer = [*newest_reads(segments), *((own, replacement.by) for own, replacement in replaced.items())]
    for own, by in newer:
        if own not in calls and by not in beside.get(own, ()):
            beside[own] = (by, *beside.get(own, ()))
    return beside, calls


def bound_by(
    segments: Iterable[ContextSegment], may_go: Collection[str], beside: Mapping[str, tuple[str, ...]]
) -> set[str]:
    """Return the segments that must stay as companions of those that may not go; segments in session order."""
    bound: set[str] = set()
    for segment in segments:
        if segment.segment_id in bound or segment.segment_id not in may_go:
            bound.update(beside.get(segment.segment_id, ()))
    return bound


def settled(candidates: Sequence[PruningCandidate], calls: Iterable[str]) -> list[PruningCandidate]:
    """Candidates in session order, scored so that what must stay beside one goes after it.

    What was replaced is worth no more than what replaced it; a call is worth as much as the best of its results.
    """
    calls = frozenset(calls)
    scores = {candidate.segment_id: candidate.keep_score for candidate in candidates}
    for candidate in reversed(candidates):  # what replaces is later in the session
        own = candidate.segment_id
        scores[own] = min([scores[own], *(scores[by] for by in candidate.beside if by in scores and by not in calls)])
    for candidate in candidates:
        for call in (own for own in candidate.beside if own in calls and own in scores):
            # The very next number: of two with the same score, the call has to be the one that is spared.
            scores[call] = max(scores[call], min(1.0, nextafter(scores[candidate.segment_id], 2.0)))
    return [candidate._replace(keep_score=scores[candidate.segment_id]) for candidate in candidates]
