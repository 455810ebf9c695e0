"""Recall: query → one ranking of all kinds → what answers → a page of passages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from memsweep.embed.protocol import check_model
from memsweep.errors import BadInput, MemsweepError
from memsweep.forking import new_lock
from memsweep.memory.ranking import DEPTH, FoundPassage, Ranking, look_at, rank
from memsweep.memory.relevance import CONSIDERED, RelevanceJudge, is_measured, precise
from memsweep.model.frozen import replace
from memsweep.model.paging import cursor_at, offset_of
from memsweep.model.search import MAX_LIMIT, MODES, Filters, Hit, Page, SearchMode
from memsweep.model.times import has_expired
from memsweep.store import views
from memsweep.store.words import matched

if TYPE_CHECKING:
    from memsweep.embed.protocol import Embedder, Reader, Words
    from memsweep.model.search import Hit
    from memsweep.store.protocol import Store

DEFAULT_LIMIT = 10


def recall(
    store: Store,
    embedder: Embedder,
    query: str,
    *,
    words: Words,
    now: datetime,
    filters: Filters = Filters(),
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
    mode: SearchMode = "precise",
    listings: Listings | None = None,
    reader: Reader | None = None,
) -> Page:
    """Return what answers any text, or in `deep` mode all that resembles it; a text without words gets the newest."""
    _check(query, limit, mode)
    query = query.encode("utf-8", "replace").decode()  # a lone surrogate cannot be looked for
    listing = f"{query}\0{filters}\0{mode}"
    offset = offset_of(cursor, listing)
    if not query.strip():
        return _newest(store, filters, limit, offset, listing, now)
    check_model(store.model(), embedder.model)
    model = embedder.model.name
    judge = RelevanceJudge(model, words, reader)
    known = RankedListing(store.workspace_id, "", listing, model)
    ranking = listings.find(known._replace(revision=store.revision())) if listings and offset else None
    end = CONSIDERED if mode == "precise" else offset + limit
    if ranking is None or not ranking.reaches(end):
        alone = mode == "precise"
        first = CONSIDERED if alone else MAX_LIMIT if end <= MAX_LIMIT else None
        ranking = rank(store, embedder, judge, query, filters, now, first, alone=alone)
        if listings and len(ranking.rows) > limit and ranking.revision:
            listings.keep(known._replace(revision=ranking.revision), ranking)
    if mode == "deep":
        ranking = ranking.with_evidence()
        found, damaged = look_at(store, judge, query, ranking, slice(offset, offset + limit))
        return _page(_in_time(found, filters, now), len(ranking.rows), offset + limit, listing, damaged)
    found, damaged = look_at(store, judge, query, ranking, slice(CONSIDERED))
    found = _in_time(found, filters, now)
    (asked,) = matched(query, [query])
    judged = [each.judged for each in found]
    chosen = {each.ranked.key for each in precise(judged, ranking.chosen_from, calibrated=is_measured(model, asked))}
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


def _in_time(found: Sequence[FoundPassage], filters: Filters, now: datetime) -> list[FoundPassage]:
    """Without what has expired since it was ranked for an earlier page; where it is asked for, it is said of each."""
    moment = filters.as_of or now
    told = [each._replace(expired=has_expired(each.passage.expires_at, moment)) for each in found]
    return told if filters.include_expired else [each for each in told if not each.expired]


def _newest(store: Store, filters: Filters, limit: int, offset: int, listing: str, now: datetime) -> Page:
    keys = list(store.chunks(filters, limit=DEPTH))
    window = keys[offset : offset + limit]
    passages = views.passages(store.rows, window)
    return Page(
        hits=tuple(
            Hit(passages[key], 0.0, "newest", expired=has_expired(passages[key].expires_at, filters.as_of or now))
            for key in window
            if key in passages
        ),
        total=len(keys),
        next_cursor=cursor_at(offset + limit, len(keys), listing),
        damaged=passages.damaged,
    )


def _page(found: Sequence[FoundPassage], total: int, end: int, listing: str, damaged: int) -> Page:
    return Page(
        hits=tuple(map(_hit, _file_by_file(found))),
        total=total,
        next_cursor=cursor_at(end, total, listing),
        damaged=damaged,
    )


def _file_by_file(found: Sequence[FoundPassage]) -> list[FoundPassage]:
    """Return the hits with those of one file together, where the best of them stands."""
    first: dict[str, int] = {}
    for at, each in enumerate(found):
        if each.passage.code is not None:
            first.setdefault(each.passage.memory_id, at)
    order = [first[each.passage.memory_id] if each.passage.code else at for at, each in enumerate(found)]
    return [found[at] for at in sorted(range(len(found)), key=lambda at: (order[at], at))]


def _with_nearest(page: Page, found: Sequence[FoundPassage]) -> Page:
    """Add the nearest hit. Odds of a reading have another scale than the rest: there the ranking decides."""
    if not found:
        return page
    any_read = any(each.reading is not None for each in found)
    return replace(page, nearest=_hit(found[0] if any_read else max(found, key=lambda each: each.judged.beside_others)))


def _hit(found: FoundPassage) -> Hit:
    item = found.judged.ranked
    relevance = round(found.judged.relevance, 3)
    return Hit(found.passage, round(item.score, 4), _why(found), found.words, relevance, expired=found.expired)


def _why(found: FoundPassage) -> str:
    parts = [f"relevance {round(found.judged.relevance, 3):.2f}"]
    if found.words:
        parts.append(f"words: {', '.join(word[:24] for word in found.words[:8])}")
    if found.similarity > 0:
        parts.append(f"similarity {found.similarity:.2f}")
    if found.reading is not None:
        parts.append(f"reading {found.reading:.1f}")
    if found.judged.ranked.neighbours > 0:
        parts.append(f"neighbours {found.judged.ranked.neighbours:.2f}")
    return "; ".join(parts)


MOST = 16
"""How many are kept, of all workspaces together; the longest unused goes first."""


class RankedListing(NamedTuple):
    """The key of a ranking: the workspace and its content, the query with its filters, and the model."""

    workspace_id: str
    revision: str
    asked: str
    model: str


class Listings:
    """Safe to use from several threads. Another process ranks again."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._kept: OrderedDict[RankedListing, Ranking] = OrderedDict()

    def find(self, listing: RankedListing) -> Ranking | None:
        with self._lock:
            if listing in self._kept:
                self._kept.move_to_end(listing)
            return self._kept.get(listing)

    def keep(self, listing: RankedListing, ranking: Ranking) -> None:
        with self._lock:
            self._kept[listing] = ranking
            self._kept.move_to_end(listing)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)


RESOLUTION = timedelta(minutes=1)
"""A memory that was seen a moment ago is not written again: searches for the same cost nothing."""
_MOST_WAITING = 10_000


class Sightings:
    """Readings that the stores have not noted yet, by workspace. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._waiting: dict[str, dict[str, datetime]] = {}

    def note(self, store: Store, hits: Iterable[Hit], now: datetime) -> None:
        """The memories of these hits were read now."""
        passages = (hit.passage for hit in hits)
        seen = {each.memory_id: now for each in passages if not each.loose and each.last_seen_at <= now - RESOLUTION}
        if seen:
            with self._lock:
                waiting = self._waiting.setdefault(store.workspace_id, {})
                if len(waiting) < _MOST_WAITING:
                    waiting.update(seen)
        self.flush(store)

    def flush(self, store: Store) -> None:
        """Hand over what waits. What the store has no time for now goes along with the next search."""
        with self._lock:
            seen = self._waiting.pop(store.workspace_id, {})
        if seen and not self._written(store, seen):
            with self._lock:
                waiting = self._waiting.setdefault(store.workspace_id, {})
                waiting.update({memory_id: at for memory_id, at in seen.items() if memory_id not in waiting})

    def waiting(self) -> list[str]:
        """The workspaces that have not noted everything."""
        with self._lock:
            return [workspace_id for workspace_id, seen in self._waiting.items() if seen]

    def _written(self, store: Store, seen: dict[str, datetime]) -> bool:
        try:
            return store.mark_seen(seen)
        except MemsweepError:  # whatever it is, what was searched for was found; who writes next will say it
            return True
