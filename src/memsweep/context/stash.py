"""The stash: segments out of the window, found again by their words and their neighbours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from memsweep.context.reading import Reader
from memsweep.model.segment import ContextSegment

_K1 = 1.2
_B = 0.75
NEIGHBOURS = {1: 0.4, 2: 0.15}
"""By distance, the share of a hit's score that the segments beside it get: answers follow questions."""
TOKEN_OFFSET = 30
TOKEN_POWER = 0.8
"""How much length costs a hit when a budget is filled: two short hits beat one long one."""
WORTH = 0.4
"""What the information of a segment counts for beside the best match, when a budget is filled."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A stashed segment that matches, with its BM25 score and what its neighbours lend it."""

    segment: ContextSegment
    score: float


class Offer(NamedTuple):
    """What a stashed segment offers to a query: its score, its cost, its information per token."""

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


@dataclass(frozen=True, slots=True)
class _Row:
    segment: ContextSegment
    words: dict[str, int]
    length: int
    information: float


class Stash:
    """Stashed segments by their place in the session; one more or one less costs its own words only."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._rows: dict[int, _Row] = {}
        self._places: dict[str, int] = {}
        self._postings: dict[str, set[int]] = {}
        self._total_length = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, segment_id: object) -> bool:
        return segment_id in self._places

    def __iter__(self) -> Iterator[ContextSegment]:
        """In session order."""
        return (self._rows[place].segment for place in sorted(self._rows))

    def put(self, segment: ContextSegment, place: int, information: float = 0.0) -> None:
        """Take a segment in, with its place in the session and its information per token, if known."""
        words = Counter(self._reader.words(segment.text))
        length = words.total()
        self._rows[place] = _Row(segment, dict(words), length, information)
        self._places[segment.segment_id] = place
        self._total_length += length
        for word in words:
            self._postings.setdefault(word, set()).add(place)

    def take(self, segment_id: str) -> ContextSegment:
        """Remove one and hand it back; KeyError when it is not here."""
        place = self._places.pop(segment_id)
        row = self._rows.pop(place)
        self._total_length -= row.length
        for word in row.words:
            holders = self._postings[word]
            holders.discard(place)
            if not holders:
                del self._postings[word]
        return row.segment

    def search(self, query: str, *, limit: int = 10) -> list[Hit]:
        """The best matches, best first."""
        scores = self._scores(query)
        best = sorted(scores, key=lambda place: (-scores[place], place))[:limit]
        return [Hit(self._rows[place].segment, scores[place]) for place in best]

    def select(self, query: str, budget: int) -> list[ContextSegment]:
        """What to bring back for a query within a token budget, in session order."""
        scores = self._scores(query)
        offers = {
            place: Offer(score, self._rows[place].segment.tokens, self._rows[place].information)
            for place, score in scores.items()
        }
        return [self._rows[place].segment for place in fill_budget(offers, budget)]

    def _scores(self, query: str) -> dict[int, float]:
        scores: dict[int, float] = {}
        for word in dict.fromkeys(self._reader.words(query)):
            self._add_word(word, scores)
        return spread_to_neighbours(scores, self._rows)

    def _add_word(self, word: str, scores: dict[int, float]) -> None:
        holders = self._postings.get(word, ())
        rarity = math.log(1 + (len(self._rows) - len(holders) + 0.5) / (len(holders) + 0.5))
        mean_length = self._total_length / max(1, len(self._rows))
        for place in holders:
            row = self._rows[place]
            count = row.words[word]
            damping = _K1 * (1 - _B + _B * row.length / mean_length)
            scores[place] = scores.get(place, 0.0) + rarity * count * (_K1 + 1) / (count + damping)
