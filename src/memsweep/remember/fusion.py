"""Join what the words found with what the meaning found, and let neighbours speak for each other. Pure.

Measured on the LoCoMo conversations (`benchmarks/recall.py`): reciprocal rank fusion is worse than
words alone; scores scaled by the best of their kind are better; and the largest single gain is that a
turn next to a good turn is good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from memsweep.model.search import Candidate, Place, Ranked


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """`meaning` against words; a similarity below `floor` of the best says nothing; neighbours by distance."""

    meaning: float = 0.35
    floor: float = 0.6
    neighbours: tuple[float, ...] = (0.35, 0.15)


DEFAULT_WEIGHTS = FusionWeights()
_KEY, _SCORE = attrgetter("key"), attrgetter("score")


def fuse(candidates: Iterable[Candidate], weights: FusionWeights = DEFAULT_WEIGHTS) -> list[Ranked]:
    """Scores without neighbours, best first; equal scores keep the order of their keys."""
    pool = list(candidates)
    best_words = max((c.words for c in pool), default=0.0)
    best_similarity = max((c.similarity for c in pool), default=0.0)
    floor = weights.floor * best_similarity

    span = best_similarity - floor
    ranked = []
    for key, by_words, similarity, _ in pool:
        words = by_words / best_words if best_words > 0 else 0.0
        meaning = (similarity - floor) / span if similarity > floor and span > 0 else 0.0
        ranked.append(Ranked(key, (1 - weights.meaning) * words + weights.meaning * meaning, words, meaning, 0.0))
    return _sorted(ranked)


def places_around(places: Iterable[Place], weights: FusionWeights = DEFAULT_WEIGHTS) -> set[Place]:
    """The places whose score these places can raise."""
    steps = [step for step, _ in _steps(weights)]
    return {Place(stream, position + step) for stream, position in places for step in steps}


def spread(
    ranked: Iterable[Ranked], keys_at: Mapping[Place, int], weights: FusionWeights = DEFAULT_WEIGHTS
) -> list[Ranked]:
    """Give every chunk at a known place a share of its neighbours' scores. Chunks without a place keep theirs."""
    own = {item.key: item for item in ranked}
    gained: dict[int, float] = dict.fromkeys(own, 0.0)
    steps = _steps(weights)
    streams: dict[int, dict[int, int]] = {}
    for (stream, position), key in keys_at.items():
        streams.setdefault(stream, {})[position] = key
    for keys in streams.values():
        for position, key in keys.items():
            giver = own.get(key)
            if giver is None or giver.score <= 0:
                continue
            for step, weight in steps:
                taker = keys.get(position + step)
                if taker is not None:
                    gained[taker] = gained.get(taker, 0.0) + weight * giver.score
    return _sorted(_raised(key, own.get(key), gain) for key, gain in gained.items())


def _raised(key: int, item: Ranked | None, gain: float) -> Ranked:
    if item is None:
        return Ranked(key, gain, 0.0, 0.0, gain)
    return Ranked(key, item.score + gain, item.words, item.meaning, gain) if gain else item


def _steps(weights: FusionWeights) -> list[tuple[int, float]]:
    return [(side * n, weight) for n, weight in enumerate(weights.neighbours, 1) for side in (-1, 1)]


def _sorted(items: Iterable[Ranked]) -> list[Ranked]:
    ordered = sorted(items, key=_KEY)
    ordered.sort(key=_SCORE, reverse=True)  # which keeps the order of equal scores
    return ordered
