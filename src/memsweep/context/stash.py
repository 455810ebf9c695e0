"""The stash: segments out of the window, found again by their words and their neighbours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from memsweep.context.reading import TextReader
from memsweep.model.segment import ContextSegment

_K1 = 1.2
_B = 0.75
NEIGHBOURS = {1: 0.4, 2: 0.15}
"""By distance, the share of a hit's score that the segments beside it get: answers follow questions."""
TOKEN_OFFSET = 30
TOKEN_POWER = 0.8
"""The cost of length for a hit when a budget is filled: two short hits beat one long one."""
WORTH = 0.4
"""The weight of the information of a segment beside the best match, when a budget is filled."""


@dataclass(frozen=True, slots=True)
class StashHit:
    """A stashed segment that matches, with its BM25 score and what its neighbours lend it."""

    segment: ContextSegment
    score: float
    matched: bool = True
    """False for what only stands beside a segment that matches."""


class Offer(NamedTuple):
    """The offer of a stashed segment to a query: its score, its cost, its information per token."""

    score: float
    tokens: int
    information: float


def spread_to_neighbours(scores: Mapping[int, float], stashed: Container[int]) -> dict[int, float]:
    """Scores by place, with what each hit lends to the stashed segments beside it."""
    spread = dict(scores)
    for place, score in scores.items():
        for distance, share in NEIGHBOURS.items():
            for beside in (place - distance, place + distance):
                if beside in stashed:
                    spread[beside] = spread.get(beside, 0.0) + share * score
    return spread


def fill_budget(offers: Mapping[int, Offer], budget: int) -> list[int]:
    """The places to bring back within a token budget, in session order."""
    worth = {place: offer.score / (offer.tokens + TOKEN_OFFSET) ** TOKEN_POWER for place, offer in offers.items()}
    best = max(worth.values(), default=1.0)
    for place, offer in offers.items():
        worth[place] = worth[place] / best + WORTH * offer.information
    chosen: list[int] = []
    for place in sorted(worth, key=lambda place: (-worth[place], place)):
        if offers[place].tokens <= budget:
            chosen.append(place)
            budget -= offers[place].tokens
    return sorted(chosen)


class StashIndex:
    """The words of stashed segments by place; one more or one less costs its own words only."""

    def __init__(self) -> None:
        self._reader = TextReader()
        self._words: dict[int, Counter[str]] = {}
        self._places: dict[str, set[int]] = {}
        self._total_length = 0

    def put(self, place: int, text: str) -> None:
        words = Counter(self._reader.words(text))
        self._words[place] = words
        self._total_length += words.total()
        for word in words:
            self._places.setdefault(word, set()).add(place)

    def take(self, place: int) -> None:
        words = self._words.pop(place)
        self._total_length -= words.total()
        for word in words:
            holders = self._places[word]
            holders.discard(place)
            if not holders:
                del self._places[word]

    def scores(self, query: str) -> dict[int, float]:
        """The BM25 score of every place that has a word of the query."""
        scores: dict[int, float] = {}
        for word in dict.fromkeys(self._reader.words(query)):
            self._add_word(word, scores)
        return scores

    def _add_word(self, word: str, scores: dict[int, float]) -> None:
        holders = self._places.get(word, ())
        rarity = math.log(1 + (len(self._words) - len(holders) + 0.5) / (len(holders) + 0.5))
        mean_length = self._total_length / max(1, len(self._words))
        for place in holders:
            words = self._words[place]
            count = words[word]
            damping = _K1 * (1 - _B + _B * words.total() / mean_length)
            scores[place] = scores.get(place, 0.0) + rarity * count * (_K1 + 1) / (count + damping)
