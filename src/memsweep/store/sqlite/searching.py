"""Finding chunks by words and by meaning. Every function runs inside the caller's read transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import apsw

from memsweep.model.search import (
    Candidate,
    FactWords,
    FileWords,
    Filters,
    Kind,
    Owner,
    Passages,
    Place,
    Statement,
    statement,
)
from memsweep.store.file.connect import SUSPECTS, one
from memsweep.store.file.meta import read_model
from memsweep.store.file.words import any_of, depth_of
from memsweep.store.refusals import other_query_model
from memsweep.store.rows import Show
from memsweep.store.sqlite import graph_sql, search_sql, superseding_sql
from memsweep.store.sqlite.search_sql import as_numbers
from memsweep.store.sqlite.words import HiddenChunks, hidden_chunks, scores, totals

if TYPE_CHECKING:
    from memsweep.store.sqlite.vectors import Cosines, VectorIndex
    from memsweep.store.sqlite.words import WordQuery


def check_dimension(db: apsw.Connection, dimension: int) -> None:
    """A query was embedded before this snapshot was taken: the workspace may have changed its model in between."""
    known = read_model(db)
    if known is not None and known.dimension != dimension:
        raise other_query_model(known)


def candidates(
    db: apsw.Connection, words: WordQuery, vectors: VectorIndex, query: str, vector: bytes, filters: Filters, depth: int
) -> list[Candidate]:
    by_words = _found_by_words(db, words, query, filters, depth) if query else {}
    cosines = vectors.similarities(db, vector)
    live = sorted(_with_nearest(db, by_words, cosines, filters, depth))
    if not live:
        return []
    found, places, is_code = zip(*live, strict=True)
    scores_of_words = map(by_words.get, found, repeat(0.0))
    columns = (found, scores_of_words, cosines.of(found), places, map(bool, is_code), repeat(None, len(live)))
    rows = zip(*columns, strict=True)
    return list(map(tuple.__new__, repeat(Candidate), rows))  # a quarter of the time of one call for each


def newest(db: apsw.Connection, filters: Filters, limit: int) -> list[Candidate]:
    where, values = _eligible(db, filters, "chunk.id")
    keys = [key for (key,) in db.execute(search_sql.newest(where), [*values, limit])]
    return [Candidate(key, 0.0, 0.0, None) for key in keys]


def at_places(db: apsw.Connection, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
    where, values = _eligible(db, filters, "chunk.id")
    return dict(db.execute(search_sql.at_places(where), [as_numbers(places), *values]))


def smaller_kind(db: apsw.Connection) -> Kind | None:
    found: Kind | None = one(db, search_sql.SMALLER_KIND)
    return found


def statements_about(
    db: apsw.Connection, asked: FactWords, *, ended: bool, expired_by: int | None, limit: int
) -> list[Statement]:
    if not one(db, graph_sql.ANY_EXPLICIT):
        return []
    given = {name: json.dumps(list(words)) for name, words in asked._asdict().items()}
    options = {"ended": ended, "expired_by": expired_by, "limit": limit}
    rows: Iterable[Any] = db.execute(graph_sql.STATEMENTS_ABOUT, {**given, **options})
    return list(map(statement, rows))


def owners(db: apsw.Connection, keys: Sequence[int]) -> dict[int, Owner]:
    rows: Iterable[Any] = db.execute(search_sql.OWNERS, (as_numbers(keys),))
    return {key: Owner(*rest) for key, *rest in rows}


def passages(db: apsw.Connection, keys: Sequence[int]) -> Passages:
    try:
        return _passages(db, keys)
    except SUSPECTS:  # one of them is damaged, and the others can still be had
        found = Passages()
        for key in keys:
            try:
                found |= _passages(db, [key])
            except SUSPECTS:
                found.damaged += 1
        return found


def _passages(db: apsw.Connection, keys: Sequence[int]) -> Passages:
    from memsweep.store.sqlite.rows import SqliteRows  # late: not every search shows something
    from memsweep.store.views import PIECE, passage_of

    (found,) = SqliteRows(db).ask(Show(PIECE, (("key", "in", keys),)))
    return Passages((row["key"], passage_of(row)) for row in found)


def _found_by_words(
    db: apsw.Connection, words: WordQuery, query: str, filters: Filters, depth: int
) -> dict[int, float]:
    hidden = _uncounted(db)
    chunks = totals(db)[0] - hidden.chunks
    return _by_words(db, words.words(db, query, chunks, hidden), hidden, filters, depth_of(depth, chunks))


def file_words(db: apsw.Connection, words: WordQuery, query: str, most: int) -> FileWords:
    files: int = one(db, search_sql.COUNT_FILES)
    hidden = _uncounted(db)
    rare = words.rare(db, query, totals(db)[0] - hidden.chunks, hidden, most) if files else []
    return FileWords(files, [dict(db.execute(search_sql.FILES_HAVING, (any_of([word]),))) for word in rare])


def _by_words(
    db: apsw.Connection, words: Sequence[str], hidden: HiddenChunks, filters: Filters, depth: int
) -> dict[int, float]:
    if not words:
        return {}
    where, values = _eligible(db, filters, "+rowid")  # or the full text would be asked once for each that passes
    reach = 2 * depth if hidden.keys else depth
    # SQLite's bm25 is negative, best first.
    found = {key: -score for key, score in db.execute(search_sql.match_words(where), [any_of(words), *values, reach])}
    if not hidden.keys:
        return found
    exact = scores(db, words, hidden, found)
    return dict(sorted(exact.items(), key=lambda item: (-item[1], item[0]))[:depth])


def _with_nearest(
    db: apsw.Connection, by_words: Mapping[int, float], cosines: Cosines, filters: Filters, depth: int
) -> list[tuple[int, Place | None, int]]:
    """Return what the words found and the closest that are live and pass, with places and whether they are code.

    Where many of the closest do not pass, only those that do are looked at.
    """
    single, asked = search_sql.passes(filters, _any_hidden(db, filters))
    reach = depth + depth // 4
    while True:
        reach = min(reach, len(cosines))
        ordered = cosines.nearest(reach)
        wanted = as_numbers(sorted({*by_words, *ordered}))
        rows: list[Any] = db.execute(search_sql.live_of(single), [wanted, *asked]).fetchall()
        live = {row[0] for row in rows}
        near = [key for key in ordered if key in live]
        if len(near) >= depth or len(ordered) < reach or reach == len(cosines):  # the rest is not near at all
            beyond = {key for key in near[depth:] if key not in by_words}
            return [row for row in rows if row[0] not in beyond]
        where, values = _eligible(db, filters, "chunk.id")
        cosines = cosines.among(key for (key,) in db.execute(search_sql.passing(where), values))


def _uncounted(db: apsw.Connection) -> HiddenChunks:
    """Return the chunks that the full text has and does not count; expired ones count: no row changes then."""
    some = one(db, search_sql.ANY_STALE) or one(db, superseding_sql.ANY_LINKS)
    return hidden_chunks(db) if some else HiddenChunks([], 0)


def _any_hidden(db: apsw.Connection, filters: Filters) -> search_sql.Hidden:
    by = search_sql.expired_by(filters)
    expired = by is not None and bool(one(db, search_sql.ANY_EXPIRED, (by,)))
    return search_sql.Hidden(bool(one(db, search_sql.ANY_STALE)), bool(one(db, superseding_sql.ANY_LINKS)), expired)


def _eligible(db: apsw.Connection, filters: Filters, key: str) -> tuple[str, list[Any]]:
    return search_sql.eligible(filters, _any_hidden(db, filters), key)
