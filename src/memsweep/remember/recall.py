"""Recall: query → candidates by words and by meaning → one ranking → what answers → a page of passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memsweep.embed.protocol import Embedder, quantise
from memsweep.errors import BadInput
from memsweep.model.paging import cursor_at, offset_of
from memsweep.model.search import MODES, Candidate, Filters, Hit, Page, Passage, Place, SearchMode
from memsweep.remember.choosing import CONSIDERED, Judged, precise
from memsweep.remember.files import by_file
from memsweep.remember.fusion import FusionWeights, Row, fuse, places_around, shown, spread, weights_for
from memsweep.remember.relevance import calibration_for, evidence_of, is_measured, names_in, words_to_match
from memsweep.remember.remember import check_model
from memsweep.remember.tiers import by_tier

if TYPE_CHECKING:
    from memsweep.store.protocol import Store

DEFAULT_LIMIT = 10
MAX_LIMIT = 50
DEPTH = 100  # how many candidates words and meaning hand in each
_SPREAD_FROM = 30  # how many of the best may call in neighbours that nothing else found; more find no more
_WINDOW = 2000  # characters of a long query that are embedded at a time
_MOST_WINDOWS = 16


class Ranking(NamedTuple):
    """Candidates and their neighbours, best first, and the cosines of the candidates."""

    rows: list[Row]
    similarity: Mapping[int, float]

    def with_evidence(self) -> Ranking:
        return self._replace(rows=[row for row in self.rows if row[0] < 0])


class Found(NamedTuple):
    """A passage of a ranking with the words of the query that it has, and what they and its meaning are worth."""

    judged: Judged
    passage: Passage
    words: tuple[str, ...]
    similarity: float


def recall(
    store: Store,
    embedder: Embedder,
    query: str,
    *,
    filters: Filters = Filters(),
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
    mode: SearchMode = "precise",
) -> Page:
    """What answers any text, or in `deep` mode all that resembles it; a text without words gets the newest."""
    _check(query, limit, mode)
    query = query.encode("utf-8", "replace").decode()  # a lone surrogate cannot be looked for
    listing = f"{query}\0{filters}\0{mode}"
    offset = offset_of(cursor, listing)
    if not query.strip():
        return _newest(store, filters, limit, offset, listing)
    check_model(store.model(), embedder.model)
    ranking = rank(store, embedder, query, filters)
    model = embedder.model.name
    if mode == "deep":
        ranking = ranking.with_evidence()
        found, damaged = look_at(store, model, query, ranking, slice(offset, offset + limit))
        return _page(found, len(ranking.rows), offset + limit, listing, damaged)
    found, damaged = look_at(store, model, query, ranking, slice(CONSIDERED))
    (asked,) = store.matched_words(query, [query])
    judged = [each.judged for each in found]
    chosen = {each.ranked.key for each in precise(judged, calibrated=is_measured(model, asked))}
    answers = [each for each in found if each.judged.ranked.key in chosen]
    page = _page(answers[offset : offset + limit], len(answers), offset + limit, listing, damaged)
    return page if answers else _with_nearest(page, found)


def _check(query: object, limit: object, mode: object) -> None:
    if not isinstance(query, str):
        raise BadInput(f"query must be text, not {type(query).__name__}.")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise BadInput(f"limit must be from 1 to {MAX_LIMIT}, not {limit!r:.40}.")
    if mode not in MODES:
        raise BadInput(f"mode must be {' or '.join(MODES)}, not {mode!r:.40}.")


def _newest(store: Store, filters: Filters, limit: int, offset: int, listing: str) -> Page:
    keys = [item.key for item in store.newest(filters, DEPTH)]
    window = keys[offset : offset + limit]
    passages = store.passages(window)
    return Page(
        hits=tuple(Hit(passages[key], 0.0, "newest") for key in window if key in passages),
        total=len(keys),
        next_cursor=cursor_at(offset + limit, len(keys), listing),
        damaged=store.unreadable([key for key in window if key not in passages]),
    )


def rank(store: Store, embedder: Embedder, query: str, filters: Filters) -> Ranking:
    """All that words or meaning found, and what stands beside it."""
    candidates = store.candidates(query, _embedded(embedder, query), filters, DEPTH)
    weights = weights_for(embedder.model.name)
    ranked = fuse(candidates, weights)
    ranked = spread(ranked, _neighbourhood(store, candidates, ranked, filters, weights), weights)
    owners = store.owners([key for _, key, *_ in ranked])
    rows = by_file(by_tier(ranked, owners), owners, query)
    return Ranking(rows, {each.key: each.similarity for each in candidates})


def look_at(store: Store, model: str, query: str, ranking: Ranking, part: slice) -> tuple[list[Found], int]:
    """The passages of a part of a ranking with their evidence, and how many more cannot be read."""
    window = shown(ranking.rows[part])
    passages = store.passages([item.key for item in window])
    readable = [item for item in window if item.key in passages]
    texts = [words_to_match(passages[item.key]) for item in readable]
    asked, *matched = store.matched_words(query, [query, *texts])
    names, calibration = names_in(query, asked), calibration_for(model)
    found = []
    for item, words in zip(readable, matched, strict=True):
        similarity = ranking.similarity.get(item.key, 0.0)
        odds = calibration.odds(evidence_of(similarity, asked, names, words))
        passage = passages[item.key]
        found.append(Found(Judged(item, odds, passage.code is not None), passage, words, similarity))
    return found, store.unreadable([item.key for item in window if item.key not in passages])


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


def _page(found: Sequence[Found], total: int, end: int, listing: str, damaged: int) -> Page:
    return Page(hits=tuple(map(_hit, found)), total=total, next_cursor=cursor_at(end, total, listing), damaged=damaged)


def _with_nearest(page: Page, found: Sequence[Found]) -> Page:
    if not found:
        return page
    return replace(page, nearest=_hit(max(found, key=lambda each: each.judged.odds)))


def _hit(found: Found) -> Hit:
    item = found.judged.ranked
    return Hit(found.passage, round(item.score, 4), _why(found), found.words, round(found.judged.relevance, 3))


def _why(found: Found) -> str:
    parts = [f"relevance {found.judged.relevance:.2f}"]
    if found.words:
        parts.append(f"words: {', '.join(word[:24] for word in found.words[:8])}")
    if found.similarity > 0:
        parts.append(f"similarity {found.similarity:.2f}")
    if found.judged.ranked.neighbours > 0:
        parts.append(f"neighbours {found.judged.ranked.neighbours:.2f}")
    return "; ".join(parts)
