"""Which words of any text to ask the full text for."""

from __future__ import annotations

import apsw

from memsweep.store.file.connect import one
from memsweep.store.file.words import is_small, needs_counts, rare, rarest, stems_of, words_of_heading, words_to_find
from memsweep.store.sqlite import search_sql
from memsweep.store.sqlite.live_words import Hidden, having

_MOST_COUNTS = 100_000


class WordQuery:
    """The words to ask one workspace for, with the document frequencies it has seen."""

    def __init__(self) -> None:
        self._frequency: dict[str, int] = {}
        self._counted_at = 0

    def words(self, db: apsw.Connection, query: str, chunks: int, hidden: Hidden) -> list[str]:
        """For a workspace of so many chunks, and some that do not count. Those that count twice are given twice."""
        words, twice = words_to_find(query), words_of_heading(query)
        if needs_counts(words, chunks):
            words = rarest(self._counts(db, words, chunks, hidden), chunks, twice) or words[:1]
        return [*words, *(word for word in words if word in twice)]

    def rare(self, db: apsw.Connection, query: str, chunks: int, hidden: Hidden, most: int) -> list[str]:
        """The rarest, which stand in `most` chunks in all; perhaps none."""
        return rare(self._counts(db, words_to_find(query), chunks, hidden), most)

    def _counts(self, db: apsw.Connection, words: list[str], chunks: int, hidden: Hidden) -> dict[str, int]:
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
