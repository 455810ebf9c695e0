"""The collector's engine: roots, mark, score and plan over a list of segments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from math import log1p
from typing import NamedTuple

from memsweep.context.beside import companions, settled
from memsweep.context.plan import PruningPlan, plan_to_free, prune_order
from memsweep.context.reading import Lexicon
from memsweep.context.references import WeakLinks, read_references
from memsweep.context.roots import Focus, Roots, compute_roots
from memsweep.context.supersede import OUTPUT_KINDS, Replacement, find_replacements
from memsweep.context.weights import Weights
from memsweep.errors import BadInput
from memsweep.model.segment import Action, ContextSegment, PruningCandidate, prune_score, require_aware


def compute_reachability(roots: Iterable[str], references: Mapping[str, Iterable[str]]) -> set[str]:
    """Every id the roots lead to, themselves included: any depth, cycles too."""
    reachable = set(roots)
    waiting = list(reachable)
    while waiting:
        for target in references.get(waiting.pop(), ()):
            if target not in reachable:
                reachable.add(target)
                waiting.append(target)
    return reachable


VERBOSE_TOKENS = 400
COLD_RECENCY = 0.5
LITTLE_INFORMATION = 0.35
LONG_TOKENS = 50
"""Below this, nobody would say of a text that it is long."""
IMPORTANT_TYPE_WORTH = 0.6


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything one look at the window found; candidates in the order they would go."""

    candidates: list[PruningCandidate]
    roots: Roots
    tokens: int


class GCEngine:
    """Judges segments; it keeps no state, so one engine serves any number of windows."""

    def __init__(self, weights: Weights | None = None) -> None:
        self.weights = weights or Weights()

    def compute_reachability(self, roots: Iterable[str], references: Mapping[str, Iterable[str]]) -> set[str]:
        return compute_reachability(roots, references)

    def analyze_pruning_candidates(
        self,
        segments: Sequence[ContextSegment],
        roots: Collection[str],
        *,
        now: datetime,
        lexicon: Lexicon | None = None,
        released: Mapping[str, str] | None = None,
        replaced: Mapping[str, Replacement] | None = None,
    ) -> list[PruningCandidate]:
        """Every segment that is no root, the first to go first; a pin is a root whether listed or not.

        A lexicon that has read more than these segments knows what was said before them. `released` says of some
        why they are no roots any more.
        """
        require_aware(now, "now")
        kept = {s.segment_id for s in segments if s.pinned}.union(roots)
        links, released = read_references(segments), released or {}
        replaced = find_replacements(segments) if replaced is None else replaced
        beside, calls = companions(segments, replaced)
        reachable = compute_reachability(kept, _joined(links.forward, beside))
        lexicon, weak = lexicon or Lexicon(self.weights), WeakLinks(segments)
        for segment in segments:
            lexicon.add(segment)
        found = []
        for segment in segments:
            own = segment.segment_id
            if own not in kept:
                parts = score_parts(
                    segment,
                    self.weights,
                    now=now,
                    information=lexicon.information(segment),
                    strong=len(links.back.get(own, ())),
                    weak=weak.count(segment),
                    redundancy=replaced[own].redundancy if own in replaced else 0.0,
                )
                judged = self.candidate(segment, parts, own in reachable, replaced.get(own), released.get(own))
                found.append(judged._replace(beside=beside[own]) if own in beside else judged)
        return prune_order(settled(found, calls))

    def score_segment(self, segment: ContextSegment, now: datetime) -> float:
        """The prune score of one segment on its own: in [0, 1], higher means prune."""
        require_aware(now, "now")
        information = Lexicon(self.weights).information(segment)
        parts = score_parts(segment, self.weights, now=now, information=information)
        return prune_score(keep_score(parts, self.weights))

    def generate_pruning_plan(
        self, candidates: Iterable[PruningCandidate], target_tokens: int, *, confirm_delete: bool = False
    ) -> PruningPlan:
        return plan_to_free(candidates, target_tokens, confirm_delete=confirm_delete)

    def analyze(
        self,
        segments: Sequence[ContextSegment],
        *,
        now: datetime,
        focus: Focus | None = None,
        budget: int | None = None,
        lexicon: Lexicon | None = None,
    ) -> Analysis:
        """Roots and candidates together; a budget makes the soft roots shrink to a share of it, if not all fits."""
        require_unique(segments)
        tokens = sum(segment.tokens for segment in segments)
        replaced = find_replacements(segments)
        outdated = {own for own, replacement in replaced.items() if replacement.kind in OUTPUT_KINDS}
        budget = None if budget is None or tokens <= budget else budget
        roots = compute_roots(
            segments, focus or Focus(), now=now, budget=budget, share=self.weights.soft_share, outdated=outdated
        )
        candidates = self.analyze_pruning_candidates(
            segments, roots.ids, now=now, lexicon=lexicon, released=roots.released, replaced=replaced
        )
        return Analysis(candidates, roots, tokens)

    def fit(
        self,
        segments: Sequence[ContextSegment],
        budget: int,
        *,
        now: datetime,
        focus: Focus | None = None,
        confirm_delete: bool = False,
    ) -> PruningPlan:
        """The plan after which the segments fit the budget, or what prevents it."""
        if budget < 0:
            raise BadInput("A budget cannot be negative.")
        seen = self.analyze(segments, now=now, focus=focus, budget=budget)
        return plan_to_free(seen.candidates, max(0, seen.tokens - budget), confirm_delete=confirm_delete)

    def candidate(
        self,
        segment: ContextSegment,
        parts: ScoreParts,
        reachable: bool,
        replaced: Replacement | None,
        released: str | None = None,
    ) -> PruningCandidate:
        """One candidate with its reasons in plain words; `released` says why it is no root any more."""
        return PruningCandidate(
            segment_id=segment.segment_id,
            type=segment.type,
            tokens=segment.tokens,
            keep_score=keep_score(parts, self.weights),
            reachable=reachable,
            reasons=_reasons(parts, reachable, replaced, released, segment.tokens),
            action=_action(segment, parts, reachable, replaced),
        )


def require_unique(segments: Sequence[ContextSegment]) -> None:
    """Two segments with one id would answer for each other."""
    if len({segment.segment_id for segment in segments}) != len(segments):
        raise BadInput("Two segments have the same id.")


def _joined(one: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    return {**one, **{own: (*one.get(own, ()), *more) for own, more in other.items()}}


def _reasons(
    parts: ScoreParts, reachable: bool, replaced: Replacement | None, released: str | None, tokens: int
) -> tuple[str, ...]:
    little = tokens >= LONG_TOKENS and parts.information < LITTLE_INFORMATION
    cold = parts.recency < COLD_RECENCY
    named = (replaced.reason if replaced else "", released or "")
    weak = _weaknesses(reachable or released is not None, cold, parts.references == 0, little)
    return tuple(filter(None, named)) + weak or ("least worth its tokens",)


@cache
def _weaknesses(reachable: bool, cold: bool, unreferenced: bool, little: bool) -> tuple[str, ...]:
    found = {
        "no root leads to it": not reachable,
        "untouched for more than its half-life": cold,
        "nothing refers to it": unreferenced,
        "says little for its length": little,
    }
    return tuple(reason for reason, holds in found.items() if holds)


def _action(segment: ContextSegment, parts: ScoreParts, reachable: bool, replaced: Replacement | None) -> Action:
    if replaced is not None and replaced.kind == "repeated" and not reachable:
        return "delete"
    important = reachable or parts.type >= IMPORTANT_TYPE_WORTH
    if important and parts.recency < COLD_RECENCY and segment.tokens >= VERBOSE_TOKENS and not replaced:
        return "compress"
    return "stash"


class ScoreParts(NamedTuple):
    """The parts of `keep_score`; every part is in [0, 1], and redundancy is the one that lowers."""

    information: float
    recency: float
    references: float
    type: float
    generation: float
    redundancy: float = 0.0


def keep_score(parts: ScoreParts, weights: Weights) -> float:
    """The weighted mean of the parts, less what redundancy takes."""
    total = weights.information + weights.recency + weights.references + weights.type + weights.generation
    mean = (
        weights.information * parts.information
        + weights.recency * parts.recency
        + weights.references * parts.references
        + weights.type * parts.type
        + weights.generation * parts.generation
    ) / total
    return mean * (1.0 - weights.redundancy * parts.redundancy)


def recency_of(segment: ContextSegment, weights: Weights, *, now: datetime) -> float:
    """Halves with every half-life since the last touch; a touch in the future counts as now."""
    age_hours = max(0.0, (now - segment.last_touched_at).total_seconds() / 3600)
    return float(0.5 ** (age_hours / weights.half_life_hours[segment.type]))


def references_of(strong: int, weak: int, weights: Weights) -> float:
    """Rises with the links that lead here and never reaches one."""
    links = strong + weights.weak_link * log1p(max(0, weak))
    return links / (links + weights.half_references)


def score_parts(
    segment: ContextSegment,
    weights: Weights,
    *,
    now: datetime,
    information: float,
    strong: int = 0,
    weak: int = 0,
    redundancy: float = 0.0,
) -> ScoreParts:
    """Put the parts of one segment together."""
    return ScoreParts(
        information=information,
        recency=recency_of(segment, weights, now=now),
        references=references_of(max(strong, segment.refcount), weak, weights),
        type=weights.type_worth[segment.type],
        generation=weights.generation_worth[segment.generation],
        redundancy=redundancy,
    )
