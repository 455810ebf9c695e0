"""Finding stashed segments again, by id or by what they say, inside an open window."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from memsweep.context.choosing import KnownSegments, unknown
from memsweep.context.reading import Lexicon
from memsweep.context.stash import NEIGHBOURS, Offer, fill_budget, spread_to_neighbours
from memsweep.model.segment import ContextSegment
from memsweep.model.window import StoredSegment

DEPTH = 200
"""So many matches are looked at, and their neighbours."""


class Searchable(KnownSegments, Protocol):
    """Finds stashed segments by what they say."""

    def matches(self, query: str, count: int) -> dict[int, float]:
        """The places of the stashed segments that match best, with their scores."""

    def stashed_at(self, places: Iterable[int]) -> dict[int, StoredSegment]: ...


def search(window: Searchable, query: str, depth: int = DEPTH) -> list[tuple[ContextSegment, float, bool]]:
    """Return the segments that match, and those that only stand beside one (False), best first."""
    scores, rows, matched = _scored(window, query, depth)
    best = sorted(scores, key=lambda place: (-scores[place], place))
    return [(rows[place].segment, scores[place], place in matched) for place in best]


def select(window: Searchable, query: str, budget: int, lexicon: Lexicon, depth: int = DEPTH) -> list[StoredSegment]:
    """Return the segments to bring back for a query within a budget, in session order."""
    scores, rows, _ = _scored(window, query, depth)
    for place in sorted(scores):
        lexicon.add(rows[place].segment)
    offers = {
        place: Offer(score, rows[place].segment.tokens, lexicon.information(rows[place].segment))
        for place, score in scores.items()
    }
    return [rows[place] for place in fill_budget(offers, budget)]


def by_id(
    window: KnownSegments, segment_ids: Iterable[str], budget: int | None
) -> tuple[list[StoredSegment], dict[str, str]]:
    """Return those of these that are stashed and fit, in the order given; the others with the reason."""
    ids = list(dict.fromkeys(segment_ids))
    found = window.find(ids)
    chosen: list[StoredSegment] = []
    refused: dict[str, str] = {}
    for own in ids:
        held = found.get(own)
        if held is None:
            refused[own] = unknown(window, own)
        elif not held.stashed:
            refused[own] = "in the window already"
        elif budget is not None and held.segment.tokens > budget:
            refused[own] = f"its {held.segment.tokens} tokens do not fit the budget"
        else:
            chosen.append(held)
            budget = None if budget is None else budget - held.segment.tokens
    return chosen, refused


def _scored(
    window: Searchable, query: str, depth: int
) -> tuple[dict[int, float], dict[int, StoredSegment], Collection[int]]:
    """The scores by place, the rows, and the places that match themselves."""
    scores = window.matches(query, depth)
    beside = {place + sign * distance for place in scores for distance in NEIGHBOURS for sign in (-1, 0, 1)}
    rows = window.stashed_at(sorted(beside))
    return spread_to_neighbours(scores, rows), rows, scores.keys()
