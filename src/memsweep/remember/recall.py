"""Recall: query → candidates by words and by meaning → one ranking → a page of passages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from memsweep.embed.protocol import Embedder, quantise
from memsweep.errors import BadInput
from memsweep.model.search import Candidate, Filters, Hit, Page, Passage, Place, Ranked
from memsweep.model.text import content_hash
from memsweep.remember.fusion import fuse, places_around, spread
from memsweep.remember.remember import check_model
from memsweep.store.protocol import Store

DEFAULT_LIMIT = 10
MAX_LIMIT = 50
DEPTH = 100  # how many candidates words and meaning hand in each
_SPREAD_FROM = 60  # how many of the best may speak for their neighbours
_EMBEDDED_CHARACTERS = 4000


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
    ticket = content_hash(f"{query}\0{filters}")[:6]
    offset = _offset(cursor, ticket)
    ranking = _rank(store, embedder, query, filters)
    window = ranking[offset : offset + limit]
    passages = store.passages([item.key for item in window])
    found = [(item, passages[item.key]) for item in window if item.key in passages]
    following = offset + limit
    return Page(
        hits=_explained(store, query, found),
        total=len(ranking),
        next_cursor=_cursor(following, ticket) if following < len(ranking) else None,
    )


def _rank(store: Store, embedder: Embedder, query: str, filters: Filters) -> list[Ranked]:
    if not query.strip():
        return [Ranked(item.key, 0.0, 0.0, 0.0, 0.0) for item in store.newest(filters, DEPTH)]
    check_model(store.model(), embedder.model)
    (vector,) = quantise(embedder.embed([query[:_EMBEDDED_CHARACTERS]]))
    candidates = store.candidates(query, vector, filters, DEPTH)
    ranked = fuse(candidates)
    return spread(ranked, _neighbourhood(store, candidates, ranked, filters))


def _neighbourhood(
    store: Store, candidates: Sequence[Candidate], ranked: Sequence[Ranked], filters: Filters
) -> dict[Place, int]:
    """The keys at the places of all candidates, and at those next to the best of them."""
    known = {item.place: item.key for item in candidates if item.place is not None}
    speaking = {item.key for item in ranked[:_SPREAD_FROM]}
    around = places_around(place for place, key in known.items() if key in speaking)
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
        parts.append(f"words: {', '.join(words[:8])}")
    if item.meaning > 0:
        parts.append(f"meaning {item.meaning:.2f}")
    if item.neighbours > 0:
        parts.append(f"neighbours {item.neighbours:.2f}")
    return "; ".join(parts) or "newest"


def _cursor(offset: int, ticket: bytes) -> str:
    return base64.urlsafe_b64encode(ticket + offset.to_bytes(3, "big")).decode()


def _offset(cursor: str | None, ticket: bytes) -> int:
    if not cursor:
        return 0
    try:
        raw = base64.urlsafe_b64decode(cursor.encode())
    except (ValueError, binascii.Error, AttributeError):
        raw = b""
    if len(raw) != 9 or raw[:6] != ticket:
        raise BadInput(
            f"cursor {cursor!r:.40} does not belong to this query.",
            hint="Repeat the call that gave it with the same query and filters, or leave it out.",
        )
    return int.from_bytes(raw[6:], "big")
