"""Join what the words found with what the meaning found, and let neighbours speak for each other. Pure.

Measured on the LoCoMo conversations (`benchmarks/recall.py`): reciprocal rank fusion is worse than
words alone; scores scaled by the best of their kind are better; and the largest single gain is that a
turn next to a good turn is good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memsweep.model.search import Candidate, Place, Ranked

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
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


# A ranking is a list of plain tuples in their natural order, which take a third less time to make and to sort than
# named ones: the score with its sign turned, the key, and the parts by words, by meaning and from neighbours.
Row = tuple[float, int, float, float, float]


class Scores(NamedTuple):
    """A ranking as columns, best first: a search handles hundreds of rows and shows a few of them."""

    turned: Floats
    keys: Ints
    words: Floats
    meaning: Floats
    neighbours: Floats

    def rows(self, first: int | None = None) -> list[Row]:
        return list(zip(*(column[:first].tolist() for column in self), strict=True))


def shown(rows: Iterable[Row]) -> list[Ranked]:
    """Rows of a ranking as those see them who only look at a few."""
    return [Ranked(key, 0.0 - turned, words, meaning, neighbours) for turned, key, words, meaning, neighbours in rows]


def fuse(candidates: Iterable[Candidate], weights: FusionWeights = DEFAULT_WEIGHTS) -> Scores:
    """Scores without neighbours, best first; equal scores keep the order of their keys."""
    import numpy as np

    pool = list(candidates)
    keys = np.array([each[0] for each in pool], np.int64)
    words, similar = np.array([each[1] for each in pool]), np.array([each[2] for each in pool])
    best_words, best_similarity = words.max(initial=0.0), similar.max(initial=0.0)
    floor = weights.floor * best_similarity
    words /= best_words or 1.0
    meaning = np.maximum(0.0, similar - floor) / (best_similarity - floor or 1.0)
    turned = -(1 - weights.meaning) * words - weights.meaning * meaning
    return _sorted(turned, keys, words, meaning, np.zeros(len(pool)))


def _sorted(turned: Floats, keys: Ints, *parts: Floats) -> Scores:
    import numpy as np

    order = np.lexsort((keys, turned))
    words, meaning, neighbours = (part[order] for part in parts)
    return Scores(turned[order], keys[order], words, meaning, neighbours)


def places_around(places: Iterable[Place], weights: FusionWeights = DEFAULT_WEIGHTS) -> set[Place]:
    """The places whose score these places can raise."""
    steps = [step for step, _ in _steps(weights)]
    return {place + step for place in places for step in steps}


def spread(scores: Scores, keys_at: Mapping[Place, int], weights: FusionWeights = DEFAULT_WEIGHTS) -> Scores:
    """Give every chunk at a known place a share of its neighbours' scores. Chunks without a place keep theirs."""
    import numpy as np

    if not keys_at:
        return scores
    places, placed = np.array(list(keys_at), np.int64), np.array(list(keys_at.values()), np.int64)
    in_order = np.argsort(places)
    places, placed = places[in_order], placed[in_order]
    keys, spots = np.unique(np.concatenate((scores.keys, placed)), return_inverse=True)
    own, at = spots[: len(scores.keys)], spots[len(scores.keys) :]
    found, (turned, words, meaning, gained) = np.zeros(len(keys), bool), np.zeros((4, len(keys)))
    found[own], turned[own], words[own], meaning[own] = True, scores.turned, scores.words, scores.meaning
    for step, weight in _steps(weights):
        takers = np.minimum(np.searchsorted(places, places + step), len(places) - 1)
        givers = np.flatnonzero(places[takers] == places + step)
        np.subtract.at(gained, at[takers[givers]], weight * turned[at[givers]])
    found |= gained > 0
    return _sorted((turned - gained)[found], keys[found], words[found], meaning[found], gained[found])


def _steps(weights: FusionWeights) -> list[tuple[int, float]]:
    return [(side * n, weight) for n, weight in enumerate(weights.neighbours, 1) for side in (-1, 1)]
