"""Recall: query → candidates by words and by meaning → one ranking → a page of passages."""

from __future__ import annotations

from collections.abc import Sequence

from memsweep.embed.protocol import Embedder, quantise
from memsweep.errors import BadInput
from memsweep.model.paging import cursor_at, offset_of
from memsweep.model.search import MAX_LIMIT, Candidate, Filters, Hit, Page, Passage, Place, Ranked
from memsweep.remember.files import by_file
from memsweep.remember.fusion import FusionWeights, Row, fuse, places_around, shown, spread, weights_for
from memsweep.remember.remember import check_model
from memsweep.store.protocol import Store

DEFAULT_LIMIT = 10
DEPTH = 100  # how many candidates words and meaning hand in each
_SPREAD_FROM = 30  # how many of the best may call in neighbours that nothing else found; more find no more
_WINDOW = 2000  # characters of a long query that are embedded at a time
_MOST_WINDOWS = 16


def recall(
    store: Store,
    embedder: Embedder,
    query: str,
    *,
    filters: Filters = Filters(),
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Page:
    """The best passages for any text; a text without words gets the newest."""
    if not isinstance(query, str):
        raise BadInput(f"query must be text, not {type(query).__name__}.")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise BadInput(f"limit must be from 1 to {MAX_LIMIT}, not {limit!r:.40}.")
    query = query.encode("utf-8", "replace").decode()  # a lone surrogate cannot be looked for
    listing = f"{query}\0{filters}"
    offset = offset_of(cursor, listing)
    ranking = _rank(store, embedder, query, filters)
    window = shown(ranking[offset : offset + limit])
    passages = store.passages([item.key for item in window])
    found = [(item, passages[item.key]) for item in window if item.key in passages]
    return Page(
        hits=_explained(store, query, found),
        total=len(ranking),
        next_cursor=cursor_at(offset + limit, len(ranking), listing),
        damaged=store.unreadable([item.key for item in window if item.key not in passages]),
    )


def _rank(store: Store, embedder: Embedder, query: str, filters: Filters) -> list[Row]:
    if not query.strip():
        return [(0.0, item.key, 0.0, 0.0, 0.0) for item in store.newest(filters, DEPTH)]
    check_model(store.model(), embedder.model)
    vector = _embedded(embedder, query)
    candidates = store.candidates(query, vector, filters, DEPTH)
    weights = weights_for(embedder.model.name)
    ranked = fuse(candidates, weights)
    ranked = spread(ranked, _neighbourhood(store, candidates, ranked, filters, weights), weights)
    return by_file(ranked, store.origins([key for _, key, *_ in ranked]), query)


def _embedded(embedder: Embedder, query: str) -> bytes:
    """One vector for all of a query; a long one is the mean of its windows, so that its end counts as its beginning."""
    windows = [query[at : at + _WINDOW] for at in range(0, len(query), _WINDOW)]
    if len(windows) > _MOST_WINDOWS:
        windows = windows[: _MOST_WINDOWS // 2] + windows[-_MOST_WINDOWS // 2 :]
    (vector,) = quantise(embedder.embed(windows).mean(axis=0, keepdims=True))
    return vector


def _neighbourhood(
    store: Store,
    candidates: Sequence[Candidate],
    ranking: Sequence[Row],
    filters: Filters,
    weights: FusionWeights,
) -> dict[Place, int]:
    """The keys at the places of all candidates, and at those next to the best of them."""
    known = {place: key for key, _, _, place in candidates if place is not None}
    speaking = {key for _, key, *_ in ranking[:_SPREAD_FROM]}
    around = places_around((place for place, key in known.items() if key in speaking), weights)
    return known | store.at_places(around - known.keys(), filters) if around else known


def _explained(store: Store, query: str, found: Sequence[tuple[Ranked, Passage]]) -> tuple[Hit, ...]:
    matched = store.matched_words(query, [passage.text for _, passage in found])
    return tuple(
        Hit(passage, round(item.score, 4), _why(item, words), words)
        for (item, passage), words in zip(found, matched, strict=True)
    )


def _why(item: Ranked, words: Sequence[str]) -> str:
    parts = []
    if words:
        parts.append(f"words: {', '.join(word[:24] for word in words[:8])}")
    if item.meaning > 0:
        parts.append(f"meaning {item.meaning:.2f}")
    if item.neighbours > 0:
        parts.append(f"neighbours {item.neighbours:.2f}")
    return "; ".join(parts) or "newest"
