"""Turn any text into a full-text query.

Postings decide what a query costs, so on a large workspace the rarest words are taken first, until
their chunks add up to about half of all; measured, that costs no recall and spares the long questions.
"""

from __future__ import annotations

import apsw

from memsweep.store.file.connect import one
from memsweep.store.file.words import any_of, stems_of, words_of
from memsweep.store.sqlite import sql

_MAX_WORDS = 64
_SMALL = 5000  # below this many chunks every word is used
_POSTINGS_SHARE = 0.5


class WordQuery:
    """Full-text queries over one workspace, with the document frequencies it has seen."""

    def __init__(self) -> None:
        self._frequency: dict[str, int] = {}
        self._counted_at = 0

    def expression(self, db: apsw.Connection, query: str) -> str | None:
        words = words_of(query)
        if not words:
            return None
        total = one(db, sql.LAST_CHUNK)
        if total > _SMALL or len(words) > _MAX_WORDS:
            words = self._rarest(db, words, total)
        return any_of(words)

    def _rarest(self, db: apsw.Connection, words: list[str], total: int) -> list[str]:
        if total > 1.1 * self._counted_at or len(self._frequency) > 100_000:
            self._frequency, self._counted_at = {}, total
        known = [word for word in words if self._count(db, word)]
        ranked = sorted(known or words, key=lambda word: self._count(db, word))
        chosen: list[str] = []
        postings = 0
        for word in ranked[:_MAX_WORDS]:
            postings += self._count(db, word)
            if chosen and postings > _POSTINGS_SHARE * total:
                break
            chosen.append(word)
        return chosen

    def _count(self, db: apsw.Connection, word: str) -> int:
        if word not in self._frequency:
            counts = [one(db, sql.WORD_COUNT, (stem,)) or 0 for stem in stems_of(db, word)]
            if not all(counts):
                return 0  # asked again next time: it may have been added by then
            self._frequency[word] = min(counts, default=0)
        return self._frequency[word]
