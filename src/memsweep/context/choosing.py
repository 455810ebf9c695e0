"""Choosing inside an open window: who may not leave and why, what a plan said of it, what is shown first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from memsweep.context.plan import PruningPlan
from memsweep.context.policy import Policy
from memsweep.context.references import read_references
from memsweep.context.roots import hard_reason
from memsweep.model.plan import CHANGED_SINCE, GONE_SINCE, PlanItem
from memsweep.model.segment import ContextSegment, PruningCandidate, SegmentType
from memsweep.model.text import excerpt
from memsweep.model.window import StoredSegment


class KnownSegments(Protocol):
    """Finds the segments of an open window by id."""

    def find(self, segment_ids: Iterable[str]) -> dict[str, StoredSegment]:
        """Return those of these that are active or stashed."""

    def ever_known(self, segment_ids: Iterable[str]) -> set[str]:
        """Return those of these that are active, stashed or in the trash."""


def refusals(
    window: KnownSegments,
    policy: Policy,
    ids: Iterable[str],
    found: Mapping[str, StoredSegment],
    planned: Mapping[str, PlanItem],
    *,
    to_stash: bool,
) -> dict[str, str]:
    """Why each of these may not go, for those that may not."""
    refused: dict[str, str] = {}
    for own in ids:
        held = found.get(own)
        if held is None:
            refused[own] = GONE_SINCE if own in planned else unknown(window, own)
        elif reason := hard_reason(held.segment, policy.focus):
            refused[own] = reason
        elif held.stashed and to_stash:
            refused[own] = "in the stash already"
        elif own in planned and planned[own].version != held.version:
            refused[own] = CHANGED_SINCE
    return refused


def excerpts(held: Iterable[StoredSegment]) -> dict[str, str]:
    """Return the beginning of each of these."""
    return {each.segment.segment_id: excerpt(each.segment.text) for each in held}


def unknown(window: KnownSegments, own: str) -> str:
    return "in the trash; undo_prune brings it back" if window.ever_known([own]) else "unknown"


def verdict(item: PlanItem | None) -> tuple[str, tuple[str, ...]]:
    if item is None:
        return "stash", ("chosen by id",)
    return str(item.evidence["action"]), tuple(item.evidence["reasons"])


def plan_item(candidate: PruningCandidate, held: StoredSegment) -> PlanItem:
    evidence = {"action": candidate.action, "reasons": list(candidate.reasons)}
    return PlanItem("segment", held.key, held.version, "; ".join(candidate.reasons), evidence)


def shown_first(plan: PruningPlan, candidates: Iterable[PruningCandidate]) -> list[PruningCandidate]:
    """Return the candidates that the plan takes, then those that would follow."""
    return [*plan.candidates, *(each for each in candidates if each.segment_id not in plan.segment_ids)]


def by_type(segments: Iterable[ContextSegment]) -> dict[SegmentType, int]:
    tokens: dict[SegmentType, int] = {}
    for segment in segments:
        tokens[segment.type] = tokens.get(segment.type, 0) + segment.tokens
    return dict(sorted(tokens.items(), key=lambda pair: -pair[1]))


def counted(segments: Sequence[ContextSegment]) -> list[ContextSegment]:
    """Reference counts as they are now."""
    back = read_references(segments).back
    return [replace(each, refcount=max(each.refcount, len(back.get(each.segment_id, ())))) for each in segments]
