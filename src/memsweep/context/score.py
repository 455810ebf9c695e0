"""Score how much a segment deserves to stay: in [0, 1], higher means keep, with its parts named."""

from __future__ import annotations

from datetime import datetime
from math import log1p
from typing import NamedTuple

from memsweep.context.weights import Weights
from memsweep.model.segment import ContextSegment


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
