"""Choose the words of a text to ask the full text for, and score by them without stale or superseded chunks.

The full text has that, and counts it; scores are made again only where there is something. It chooses who is looked
at; this decides.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import apsw

from memsweep.model.frozen import frozen
from memsweep.store.file.connect import one
from memsweep.store.file.words import (
    any_of,
    is_small,
    needs_counts,
    rare,
    rarest,
    stems_of,
    words_of_heading,
    words_to_find,
)
from memsweep.store.sqlite import search_sql
from memsweep.store.sqlite.search_sql import as_numbers

K, B = 1.2, 0.75  # as in the full text
_LEAST = 1e-6


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
    weights = [max(_LEAST, math.log((total - count + 0.5) / (count + 0.5))) for count in counts]
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
    counts = [one(db, search_sql.WORD_COUNT, (stem,)) or 0 for stem in stems_of(db, word)]
    return min(counts, default=0)
