"""Join what the words found with what the meaning found, and let neighbours speak for each other. Pure.

Measured on the LoCoMo conversations (`benchmarks/recall.py`): reciprocal rank fusion is worse than
words alone; scores scaled by the best of their kind are better; and the largest single gain is that a
turn next to a good turn is good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from memsweep.model.frozen import frozen
from memsweep.model.search import Candidate, Place, Ranked


@frozen
class FusionWeights:
    """`meaning` against words; a similarity below `floor` of the best says nothing; neighbours by distance."""

    meaning: float = 0.35
    floor: float = 0.6
    neighbours: tuple[float, ...] = (0.35, 0.15)


DEFAULT_WEIGHTS = FusionWeights()
# By name of the embedding model; what a similarity is worth beside words differs from model to model.
WEIGHTS_OF_MODELS = {"all-MiniLM-L6-v2-int8": FusionWeights(meaning=0.45)}


def weights_for(model: str) -> FusionWeights:
    return WEIGHTS_OF_MODELS.get(model, DEFAULT_WEIGHTS)


_DIGITS = 9  # of a score; behind them engines differ, which add up in another order
# A ranking is a list of plain tuples in their natural order, which take a third less time to make and to sort than
# named ones: the score with its sign turned, the key, and the parts by words, by meaning and from neighbours.
Row = tuple[float, int, float, float, float]


def shown(rows: Iterable[Row]) -> list[Ranked]:
    """Rows of a ranking as those see them who only look at a few."""
    return [Ranked(key, 0.0 - turned, words, meaning, neighbours) for turned, key, words, meaning, neighbours in rows]


def fuse(candidates: Iterable[Candidate], weights: FusionWeights = DEFAULT_WEIGHTS) -> list[Row]:
    """Scores without neighbours, best first; equal scores keep the order of their keys."""
    pool = list(candidates)
    _, all_words, similarities, *_ = zip(*pool, strict=True) if pool else ((),) * 6
    best_words, best_similarity = max(all_words, default=0.0) or 1.0, max(similarities, default=0.0)
    floor = weights.floor * best_similarity
    span = best_similarity - floor or 1.0
    for_meaning, for_words = weights.meaning, 1 - weights.meaning
    rows = [
        (
            round(
                -for_words * (words := by_words / best_words)
                - for_meaning * (meaning := (similarity - floor) / span if similarity > floor else 0.0),
                _DIGITS,
            ),
            key,
            words,
            meaning,
            0.0,
        )
        for key, by_words, similarity, _, _, _ in pool
    ]
    rows.sort()
    return rows


def places_around(places: Iterable[Place], weights: FusionWeights = DEFAULT_WEIGHTS) -> set[Place]:
    """The places whose score these places can raise."""
    steps = [step for step, _ in _steps(weights)]
    return {place + step for place in places for step in steps}


def spread(rows: Iterable[Row], keys_at: Mapping[Place, int], weights: FusionWeights = DEFAULT_WEIGHTS) -> list[Row]:
    """Give every chunk at a known place a share of its neighbours' scores. Chunks without a place keep theirs."""
    found = {row[1]: row for row in rows}
    gained: dict[int, float] = {}
    steps = _steps(weights)
    linked = _with_neighbours(keys_at, len(weights.neighbours))
    for place, key in keys_at.items():
        if place in linked and key in found and (turned := found[key][0]) < 0:
            for step, weight in steps:
                if (taker := keys_at.get(place + step)) is not None:
                    gained[taker] = gained.get(taker, 0.0) - weight * turned
    for key, gain in gained.items():
        turned, _, words, meaning, _ = found.get(key, _NOT_FOUND)
        found[key] = round(turned - gain, _DIGITS), key, words, meaning, gain
    return sorted(found.values())


_NOT_FOUND: Row = (0.0, 0, 0.0, 0.0, 0.0)


def _with_neighbours(places: Iterable[Place], reach: int) -> set[Place]:
    """Those that are not alone; of the candidates of a search most are, and need not be asked for each step."""
    return {place for pair in pairwise(sorted(places)) if pair[1] - pair[0] <= reach for place in pair}


def _steps(weights: FusionWeights) -> list[tuple[int, float]]:
    return [(side * n, weight) for n, weight in enumerate(weights.neighbours, 1) for side in (-1, 1)]
