"""Finding chunks by words and by meaning. Every function runs inside the caller's read transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import repeat
from typing import TYPE_CHECKING, Any

import apsw

from memsweep.model.frozen import frozen
from memsweep.model.search import (
    Candidate,
    Candidates,
    FactWords,
    FileWords,
    Filters,
    Place,
    Statement,
    statement,
)
from memsweep.model.text import to_json
from memsweep.model.times import to_micros
from memsweep.model.workspace import model_from
from memsweep.store.file.connect import BUSY_SECONDS, immediate, one
from memsweep.store.file.schema import GET_META
from memsweep.store.refusals import other_query_model
from memsweep.store.sqlite import graph_sql, search_sql, sql, superseding_sql
from memsweep.store.sqlite.search_sql import as_numbers
from memsweep.store.words import (
    B,
    K,
    any_of,
    depth_of,
    is_small,
    needs_counts,
    rare,
    rarest,
    stems_of,
    weight_of,
    words_of_heading,
    words_to_find,
)

if TYPE_CHECKING:
    from memsweep.store.sqlite.vectors import Cosines, VectorIndex


def check_dimension(db: apsw.Connection, dimension: int) -> None:
    """A query was embedded before this snapshot was taken: the workspace may have changed its model in between."""
    known = model_from(one(db, GET_META, ("model",)))
    if known is not None and known.dimension != dimension:
        raise other_query_model(known)


def candidates(
    db: apsw.Connection, words: WordQuery, vectors: VectorIndex, query: str, vector: bytes, filters: Filters, depth: int
) -> Candidates:
    by_words = _found_by_words(db, words, query, filters, depth) if query else {}
    cosines = vectors.similarities(db, vector)
    live = sorted(_with_nearest(db, by_words, cosines, filters, depth))
    result = Candidates()
    result.files = one(db, search_sql.COUNT_CODE)
    if not live:
        return result
    found, places, is_code = zip(*live, strict=True)
    scores_of_words = map(by_words.get, found, repeat(0.0))
    columns = (found, scores_of_words, cosines.of(found), places, map(bool, is_code), repeat(None, len(live)))
    rows = zip(*columns, strict=True)
    result += map(tuple.__new__, repeat(Candidate), rows)  # a quarter of the time of one call for each
    return result


def chunks(db: apsw.Connection, filters: Filters, at: Collection[Place] | None, limit: int) -> dict[int, Place | None]:
    where, values = _eligible(db, filters, "chunk.id")
    if at is None:
        return dict(db.execute(search_sql.newest(where), [*values, limit]))
    return dict(db.execute(search_sql.at_places(where), [as_numbers(at), *values]))


def statements_about(
    db: apsw.Connection, asked: FactWords, *, ended: bool, expired_by: int | None, limit: int
) -> list[Statement]:
    if not one(db, graph_sql.ANY_EXPLICIT):
        return []
    given = {name: json.dumps(list(words)) for name, words in asked._asdict().items()}
    options = {"ended": ended, "expired_by": expired_by, "limit": limit}
    rows: Iterable[Any] = db.execute(graph_sql.STATEMENTS_ABOUT, {**given, **options})
    return list(map(statement, rows))


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


# The words of a text to ask the full text for, and scores by them without stale or superseded chunks.
# The full text has those, and counts them; scores are made again only where there are some. It chooses; this decides.


@frozen
class HiddenChunks:
    """The chunks that the full text has and that are not to count."""

    keys: list[int]
    tokens: int

    @property
    def chunks(self) -> int:
        return len(self.keys)


def hidden_chunks(db: apsw.Connection) -> HiddenChunks:
    keys: list[int] = []
    tokens = 0
    for key, sizes in db.execute(search_sql.HIDDEN_CHUNKS):
        keys.append(key)
        tokens += next(_numbers(sizes), 0)
    return HiddenChunks(keys, tokens)


def totals(db: apsw.Connection) -> tuple[int, int]:
    """Return the number of chunks and tokens of the full text, which it keeps at the front of a record."""
    record: bytes | None = one(db, search_sql.FULL_TEXT_TOTALS)
    numbers = _numbers(record or b"")
    return next(numbers, 0), next(numbers, 0)


def scores(
    db: apsw.Connection, words: Sequence[str], hidden: HiddenChunks, chosen: Collection[int]
) -> dict[int, float]:
    """BM25 of the chosen chunks, by key."""
    chunks, tokens = totals(db)
    total = max(1, chunks - hidden.chunks)
    usual = max(1.0, (tokens - hidden.tokens) / total)
    counts = having(db, words, hidden)
    weights = [weight_of(total, count) for count in counts]
    found = {}
    for key, size, times in _counted(db, words, chosen):
        room = K * (1 - B + B * size / usual)
        parts = zip(weights, times, strict=True)
        found[key] = sum(weight * count * (K + 1) / (count + room) for weight, count in parts)
    return found


def having(db: apsw.Connection, words: Sequence[str], hidden: HiddenChunks) -> list[int]:
    """Return how many chunks that count have each word."""
    asked = json.dumps([any_of([word]) for word in words])
    return [count for (count,) in db.execute(search_sql.COUNT_LIVE, (as_numbers(hidden.keys), asked))]


def _counted(db: apsw.Connection, words: Sequence[str], keys: Collection[int]) -> Iterator[tuple[int, int, list[int]]]:
    """Of those of these chunks that have one of the words: the key, how many tokens, and how often each word."""
    db.register_fts5_function("word_counts", _word_counts)
    for key, counts in db.execute(search_sql.WORD_COUNTS, (any_of(words), json.dumps(list(keys)))):
        size, *times = map(int, counts.split())
        yield key, size, times


def _word_counts(row: Any, *_: Any) -> str:
    times = (len(row.phrase_column_offsets(at, 0)) for at in range(row.phrase_count))
    return " ".join(map(str, (row.column_size(0), *times)))


def _numbers(record: bytes) -> Iterator[int]:
    """Numbers of seven bits a byte, the most significant first."""
    number = 0
    for byte in record:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            yield number
            number = 0


_MOST_COUNTS = 100_000


class WordQuery:
    """The words to ask one workspace for, with the document frequencies it has seen."""

    def __init__(self) -> None:
        self._frequency: dict[str, int] = {}
        self._counted_at = 0

    def words(self, db: apsw.Connection, query: str, chunks: int, hidden: HiddenChunks) -> list[str]:
        """For a workspace of so many chunks, and some that do not count. Those that count twice are given twice."""
        words, twice = words_to_find(query), words_of_heading(query)
        if needs_counts(words, chunks):
            words = rarest(self._counts(db, words, chunks, hidden), chunks, twice) or words[:1]
        return [*words, *(word for word in words if word in twice)]

    def rare(self, db: apsw.Connection, query: str, chunks: int, hidden: HiddenChunks, most: int) -> list[str]:
        """The rarest, which stand in `most` chunks in all; perhaps none."""
        return rare(self._counts(db, words_to_find(query), chunks, hidden), most)

    def _counts(self, db: apsw.Connection, words: list[str], chunks: int, hidden: HiddenChunks) -> dict[str, int]:
        if hidden.keys:
            counts = zip(words, having(db, words, hidden), strict=True)
            return {word: count for word, count in counts if count}
        if is_small(chunks):
            return {word: count for word in words if (count := count_of(db, word))}
        if not 0.9 * self._counted_at <= chunks <= 1.1 * self._counted_at or len(self._frequency) > _MOST_COUNTS:
            self._frequency, self._counted_at = {}, chunks
        return {word: count for word in words if (count := self._count(db, word))}

    def _count(self, db: apsw.Connection, word: str) -> int:
        if word not in self._frequency:
            count = count_of(db, word)
            if not count:
                return 0  # asked again next time: it may have been added by then
            self._frequency[word] = count
        return self._frequency[word]


def count_of(db: apsw.Connection, word: str) -> int:
    """At most so many chunks have a word."""
    counts = [one(db, search_sql.WORD_COUNT, (stem,)) or 0 for stem in stems_of(word)]
    return min(counts, default=0)


def mark_seen(db: apsw.Connection, seen: Mapping[str, datetime]) -> bool:
    """Note when memories were read, without waiting: whether it is done, or cannot be done at all.

    In a transaction that is not synced by itself: the next one that is takes it along, and if a power cut comes
    first, nothing is lost but a reading.
    """
    rows = to_json([(memory_id, to_micros(at)) for memory_id, at in seen.items()])
    synchronous = db.pragma("synchronous")
    db.set_busy_timeout(0)
    db.pragma("synchronous", "normal")
    try:
        with immediate(db):
            db.execute(sql.MARK_SEEN, (rows,))
    except (apsw.BusyError, apsw.LockedError):
        return False
    except apsw.Error:  # nothing may be written here, or there is no room: reading goes on
        return True
    finally:
        db.pragma("synchronous", synchronous)
        db.set_busy_timeout(int(BUSY_SECONDS * 1000))
    return True
