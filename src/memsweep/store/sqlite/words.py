"""Turn any text into a full-text query, and say which of its words a text contains.

Postings decide what a query costs, so on a large workspace the rarest words are taken first, until
their chunks add up to about half of all; measured, that costs no recall and spares the long questions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import apsw

from memsweep.store.sqlite import sql
from memsweep.store.sqlite.connect import one
from memsweep.store.sqlite.script import runs_of_script, spread_script

_MAX_WORDS = 64
_SMALL = 5000  # below this many chunks every word is used
_POSTINGS_SHARE = 0.5
_CHUNK_OF_QUERY = 4000  # words beyond this many characters add time, not meaning
_WORD = re.compile(r"[^\W_]+")
_STOP = frozenset(
    (
        "a an the and or but if of to in on at for with by from as is are was were be been being am do does did "
        "have has had he she it they them his her its their i you we me my your our us this that these those what "
        "which who whom when where why how not no so than then too very can will would could should may might "
        "about into over after before up down out off again there here all any both each more most other some such "
        "only own same s t d ll m re ve don just "
    ).split()
)


def words_of(query: str) -> list[str]:
    """The words of a query that carry meaning, each once; all of them where none does."""
    composed = unicodedata.normalize("NFC", query[:_CHUNK_OF_QUERY])  # else an accent of its own ends a word
    runs = (run for word in _WORD.findall(composed) for run in runs_of_script(word))
    found = list(dict.fromkeys(run.lower() for run in runs))
    telling = [word for word in found if word not in _STOP]
    return telling or found


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


def matched(db: apsw.Connection, query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """For each text, the words of the query that stand in it, whatever their ending."""
    wanted = [(word, set(stems_of(db, word))) for word in words_of(query)]
    found = []
    for text in texts:
        here = set(stems_of(db, text))
        found.append(tuple(word for word, stems in wanted if stems and stems <= here))
    return found


def any_of(words: Sequence[str]) -> str:
    """The full-text query for texts with at least one of these words."""
    return " OR ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    return f'"{spread_script(word)}"'


def stems_of(db: apsw.Connection, text: str) -> list[Any]:
    tokenise = db.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    spread = spread_script(text).encode()
    return list(tokenise(spread, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False))
