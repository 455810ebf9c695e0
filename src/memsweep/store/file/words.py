"""The words of a query, and which of them a text contains, as the full-text index sees them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import apsw

from memsweep.store.file.script import runs_of_script, spread_script

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
