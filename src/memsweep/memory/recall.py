"""Recall: query → one ranking of all kinds → what answers → a page of passages."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from memsweep.embed.protocol import check_model
from memsweep.errors import BadInput, MemsweepError
from memsweep.forking import new_lock
from memsweep.memory.ranking import DEPTH, OF_CHUNKS, RankedChunks, Row, rank_chunks, read_the_best, shown
from memsweep.memory.relevance import (
    CONSIDERED,
    MOST_WORDS,
    Count,
    Judged,
    RelevanceJudge,
    is_measured,
    precise,
    relevance_of,
)
from memsweep.model.frozen import replace
from memsweep.model.memory_row import MEMORY
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.paging import cursor_at, offset_of
from memsweep.model.search import (
    MAX_LIMIT,
    MODES,
    FactWords,
    Filters,
    Hit,
    Page,
    Passage,
    Ranked,
    SearchMode,
    Statement,
)
from memsweep.model.text import name_key
from memsweep.model.times import has_expired, holding_at, to_micros
from memsweep.numeric import cosines
from memsweep.store import views
from memsweep.store.quarantined import HeldGraph
from memsweep.store.words import matched

if TYPE_CHECKING:
    from memsweep.embed.protocol import Embedder, Reader, Words
    from memsweep.model.segment import ContextSegment
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


_HEAD = 5  # how many of a kind say how relevant it is


class FoundPassage(NamedTuple):
    """A passage of a ranking with the words of the query that it has, and what they and its meaning are worth."""

    judged: Judged
    passage: Passage
    words: tuple[str, ...]
    similarity: float
    reading: float | None = None
    expired: bool = False


class Ranking(NamedTuple):
    """Candidates and their neighbours, best first; the cosines of the candidates; facts and segments by their keys;
    what a reader said of the best; how many there were to choose from.

    If `settled` is a number, only so many of the rows are sure to stand in their order.
    """

    rows: list[Row]
    similarity: Mapping[int, float]
    other_hits: Mapping[int, FoundPassage] = {}
    settled: int | None = None
    readings: Mapping[int, float] = {}
    chosen_from: Count = Count()
    revision: str = ""
    """The revision of the workspace that the candidates were found at; empty if there were none to be found."""

    def reaches(self, end: int) -> bool:
        return self.settled is None or end <= self.settled

    def with_evidence(self) -> Ranking:
        return self._replace(rows=[row for row in self.rows if row[0] < 0])


def rank(
    store: Store,
    embedder: Embedder,
    judge: RelevanceJudge,
    query: str,
    filters: Filters,
    now: datetime,
    first: int | None = None,
    *,
    alone: bool = False,
) -> Ranking:
    """All that words or meaning found, and what stands beside it. Where there are several kinds, each has its own
    ranking, and the most relevant of it decides where that stands among the others.

    Who looks only at the `first` few may say so: where there is no code, the order of the rest is not worked out. The
    ranking may be of these `alone`.
    """
    (asked,) = matched(query, [query])
    others = _judged_beside(store, embedder, judge, query, asked, filters, now)
    looked_for = filters.kind in OF_CHUNKS
    whole = rank_chunks(store, embedder, query, asked, filters, first) if looked_for else RankedChunks([], {})
    rankings, similarity, count, settled, revision = whole
    rankings, readings = read_the_best(store, judge.reader, query, asked, filters, rankings, similarity)
    several = len(rankings) + bool(others) > 1
    if several:
        apart = [Ranking(rows, similarity, readings=readings) for rows in rankings]
        rankings = [_by_relevance(store, judge, query, each) for each in apart]
    rows = [row for rows in rankings for row in rows]
    rows += [(-each.judged.relevance, key, 0.0, 0.0, 0.0) for key, each in others.items()]
    rows = sorted(rows, key=lambda row: row[0]) if several or others else rows
    if not alone:
        return Ranking(rows, similarity, others, settled, readings, count, revision)
    similarity = {row[1]: similarity.get(row[1], 0.0) for row in rows[:first]}
    return Ranking(rows[:first], similarity, others, settled, readings, count, revision)


def look_at(
    store: Store, judge: RelevanceJudge, query: str, ranking: Ranking, part: slice
) -> tuple[list[FoundPassage], int]:
    """The passages of a part of a ranking with their evidence, and how many more cannot be read."""
    window = shown(ranking.rows[part])
    keys = [item.key for item in window if item.key not in ranking.other_hits]
    pieces = views.passages(store.rows, keys)
    read = [(key, pieces[key]) for key in keys if key in pieces]
    similar = [(passage, ranking.similarity.get(key, 0.0)) for key, passage in read]
    judged = judge.odds(query, similar, [ranking.readings.get(key) for key, _ in read])
    by_key = {key: (passage, *said) for (key, passage), said in zip(read, judged, strict=True)}
    found = []
    for item in window:
        if item.key in ranking.other_hits:
            found.append(ranking.other_hits[item.key])
        elif item.key in by_key:
            passage, odds, words = by_key[item.key]
            similarity, reading = ranking.similarity.get(item.key, 0.0), ranking.readings.get(item.key)
            judgement = Judged(item, odds, passage.kind, reading is not None)
            found.append(FoundPassage(judgement, passage, words, similarity, reading))
    return found, pieces.damaged


def _by_relevance(store: Store, judge: RelevanceJudge, query: str, ranking: Ranking) -> list[Row]:
    """The rows of one kind, scored so that the best has the relevance of the most relevant of the first."""
    found, _ = look_at(store, judge, query, ranking, slice(_HEAD))
    most = max((relevance_of(each.judged.beside_others) for each in found), default=0.0)
    best = max((-row[0] for row in ranking.rows), default=0.0)
    scaled, last = [], -1.0
    for row in ranking.rows:  # in their order, which is not that of their scores where a file has many
        last = max(last, row[0] * most / best if best else 0.0)
        scaled.append((last, *row[1:]))
    return scaled


def _judged_beside(
    store: Store,
    embedder: Embedder,
    judge: RelevanceJudge,
    query: str,
    asked: Sequence[str],
    filters: Filters,
    now: datetime,
) -> dict[int, FoundPassage]:
    """Return facts and segments, with negative keys."""
    passages = facts_and_segments(store, filters, query, asked, now)
    if not passages:
        return {}
    words = matched(query, [each.text for each in passages])
    chosen = most_alike(passages, map(len, words))
    similar = list(zip(chosen, similarities(embedder, query, chosen), strict=True))
    found = {}
    for key, ((passage, similarity), (odds, met)) in enumerate(zip(similar, judge.odds(query, similar), strict=True)):
        item = Ranked(-1 - key, relevance_of(odds), 0.0, 0.0, 0.0)
        found[-1 - key] = FoundPassage(Judged(item, odds, passage.kind), passage, met, similarity)
    return found


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


# What has no chunk of its own: facts of the graph, segments of context windows.
# They are few: those that have words of the query are read, and the best of them are embedded for the occasion.

MOST_EMBEDDED = 16
_MOST_STATEMENTS = 100
_MOST_SEGMENTS = 200  # of one window
_LONGEST_NAME = 3  # words
_FEWEST_LETTERS = 3
_ENDINGS = ("ing", "ies", "ed", "es", "e", "y", "s")
_WORD = re.compile(r"\w+")


def facts_and_segments(
    store: Store, filters: Filters, query: str, asked: Collection[str], now: datetime
) -> list[Passage]:
    """Facts and segments that may answer, as far as they were asked for; none for a query that is a text itself."""
    if not filters.may_be_loose or len(asked) > MOST_WORDS:
        return []
    found: list[Passage] = []
    if filters.kind in (None, "fact"):
        ended = filters.as_of is not None
        expired_by = None if filters.held_back is None else filters.held_back.expired_by
        about = fact_words(query, asked)
        known = store.statements_about(about, ended=ended, expired_by=expired_by, limit=_MOST_STATEMENTS)
        stated = list(filter(holding_at(filters.as_of, now), known))
        held = _held(store, filters, stated)
        found += [_of_statement(each) for each in stated if each.id not in held]
    if filters.kind == "segment" and filters.as_of is None:
        found += [each for each in _segments(store, query) if not _is_held(each, filters)]
    return [each for each in found if _is_between(each.created_at, filters) and filters.accept(each.origin)]


def _held(store: Store, filters: Filters, stated: Iterable[Statement]) -> set[str]:
    """Return the facts that are held back. Without such tiers the graph is not loaded: a search would wait."""
    back = filters.held_back
    facts = [each.id for each in stated if back is not None and each.origin.tier in back.tiers]
    return HeldGraph(store.graph, back).facts(facts) if facts else set()


def fact_words(query: str, asked: Collection[str]) -> FactWords:
    starts = beginnings(asked)
    written = [form for start in starts for form in (start, start.upper(), start.capitalize())]
    return FactWords(names_to_look_up(query, asked), starts, list(dict.fromkeys(written)))


def names_to_look_up(query: str, asked: Collection[str]) -> list[str]:
    """Every run of up to three words, as names are compared, and each word without a plural."""
    words = _WORD.findall(name_key(query))
    runs = [
        " ".join(words[at : at + count])
        for count in range(1, _LONGEST_NAME + 1)
        for at in range(len(words) - count + 1)
    ]
    known = set(asked)
    telling = [run for run in runs if " " in run or run in known]
    return list(dict.fromkeys([*telling, *(word[:-1] for word in telling if word.endswith("s") and len(word) > 3)]))


def beginnings(asked: Collection[str]) -> list[str]:
    """Return the beginnings of other forms of these words: `deploy` for `deployed`, `sign` for `signing`. Some begin
    other words, too; the words that a fact has in common with the query decide.
    """
    found = (_beginning(name_key(word)) for word in asked)
    return list(dict.fromkeys(start for start in found if len(start) >= _FEWEST_LETTERS))


def _beginning(word: str) -> str:
    ending = next((each for each in _ENDINGS if word.endswith(each) and len(word) - len(each) >= _FEWEST_LETTERS), "")
    start = word.removesuffix(ending)
    is_double = ending in ("ing", "ed") and len(start) > _FEWEST_LETTERS and start[-1] == start[-2]
    return start[:-1] if is_double else start


def _of_statement(fact: Statement) -> Passage:
    text = f"{fact.subject} {fact.relation.replace('_', ' ').lower()} {fact.object}"
    return _loose("fact", fact.id, text, fact.created_at, "graph", fact.origin)


def _segments(store: Store, query: str) -> Iterator[Passage]:
    for row in store.windows.windows():
        with store.windows.reading(row.project_id) as window:
            stashed = window.stashed_at(window.matches(query, _MOST_SEGMENTS)).values()
            held = [each.segment for each in (*window.active()[-_MOST_SEGMENTS:], *stashed)]
            origins = window.origins(each.segment_id for each in held)
        yield from (_of_segment(each, row.project_id, origins.get(each.segment_id, UNKNOWN)) for each in held)


def _of_segment(segment: ContextSegment, project_id: str, origin: Origin) -> Passage:
    return _loose("segment", segment.segment_id, segment.text, segment.created_at, project_id, origin)


_NOTHING = {name: column.nothing for name, column in MEMORY.columns.items() if column.shown}


def _loose(kind: str, own_id: str, text: str, at: datetime, source: str, origin: Origin) -> Passage:
    return Passage(
        key=0,
        chunk_id=own_id,
        memory_id="",
        text=text,
        first_line=1,
        last_line=1 + text.count("\n"),
        **{**_NOTHING, "source": source, "created_at": at, "updated_at": at, "last_seen_at": at},
        thread_id=None,
        origin=origin,
        code=None,
        loose="fact" if kind == "fact" else "segment",
    )


def _is_held(segment: Passage, filters: Filters) -> bool:
    back = filters.held_back
    if back is None or segment.origin.tier not in back.tiers:
        return False
    return back.since is None or to_micros(segment.created_at) > back.since


def _is_between(at: datetime, filters: Filters) -> bool:
    if filters.date_from is not None and at < filters.date_from:
        return False
    return filters.date_to is None or at <= filters.date_to


def most_alike(passages: Sequence[Passage], shares: Iterable[float]) -> list[Passage]:
    """Return the passages with most of the words, which are worth embedding; those without any are not."""
    ranked = sorted(zip(shares, passages, strict=True), key=lambda pair: (-pair[0], pair[1].text, pair[1].chunk_id))
    return [passage for share, passage in ranked if share > 0][:MOST_EMBEDDED]


def similarities(embedder: Embedder, query: str, passages: Sequence[Passage]) -> list[float]:
    return cosines(embedder.embed([query, *(passage.text for passage in passages)])) if passages else []
