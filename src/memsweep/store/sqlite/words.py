"""Turn any text into a full-text query."""

from __future__ import annotations

import apsw

from memsweep.store.file.connect import one
from memsweep.store.file.words import any_of, needs_counts, rarest, stems_of, words_of
from memsweep.store.sqlite import search_sql

_MOST_COUNTS = 100_000


class WordQuery:
    """Full-text queries over one workspace, with the document frequencies it has seen."""

    def __init__(self) -> None:
        self._frequency: dict[str, int] = {}
        self._counted_at = 0

    def expression(self, db: apsw.Connection, query: str, chunks: int) -> str | None:
        """For a workspace of so many chunks."""
        words = words_of(query)
        if not words:
            return None
        return any_of(self._rarest(db, words, chunks) if needs_counts(words, chunks) else words)

    def _rarest(self, db: apsw.Connection, words: list[str], chunks: int) -> list[str]:
        if not 0.9 * self._counted_at <= chunks <= 1.1 * self._counted_at or len(self._frequency) > _MOST_COUNTS:
            self._frequency, self._counted_at = {}, chunks
        having = {word: count for word in words if (count := self._count(db, word))}
        return rarest(having, chunks) or words[:1]

    def _count(self, db: apsw.Connection, word: str) -> int:
        if word not in self._frequency:
            counts = [one(db, search_sql.WORD_COUNT, (stem,)) or 0 for stem in stems_of(db, word)]
            if not all(counts):
                return 0  # asked again next time: it may have been added by then
            self._frequency[word] = min(counts, default=0)
        return self._frequency[word]
