"""Words of a text as the full text holds them: the same stems as the embedded engine, cut by the same tokeniser.

The server's own stemmer knows no accents and no unspaced scripts. So a chunk carries its `terms`: stems, and for
scripts without spaces every letter and every pair of letters, which finds parts of a run without a phrase.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from functools import cache

import apsw

from memsweep.store.file import words as embedded
from memsweep.store.file.script import runs_of_script, spread_script

_LETTERS = re.compile(r"\w+")
_lock = threading.Lock()


@cache
def _tokeniser() -> apsw.Connection:
    return apsw.Connection(":memory:")


def terms_of(text: str, extra: str = "") -> str:
    """What the full text of a chunk holds."""
    stems = _stems(f"{text} {extra}" if extra else text)
    return " ".join([*stems, *_pairs(text), *_pairs(extra)])


def any_of(words: Sequence[str]) -> str:
    """The full-text query for chunks with at least one of these words."""
    return "|".join(f"({' '.join(terms)})" for terms in map(terms_of_word, words) if terms)


def having(needed: Sequence[str], groups: Sequence[Sequence[str]]) -> str:
    """The same for chunks with all `needed` words, and all of one of the groups."""
    one_of = "|".join(f"({' '.join(map(_said, group))})" for group in groups)
    return " ".join([*map(_said, needed), *([f"({one_of})"] if groups else [])])


def _said(word: str) -> str:
    return " ".join(terms_of_word(word))


def terms_of_word(word: str) -> Sequence[str]:
    """What a chunk that has this word has among its terms."""
    if _is_unspaced(word) and len(word) > 1:
        return [word[at : at + 2] for at in range(len(word) - 1)]
    return [stem for stem in _stems(word) if _LETTERS.fullmatch(stem)]


def words_of(query: str) -> list[str]:
    return embedded.words_of(query)


def words_to_find(query: str) -> list[str]:
    return embedded.words_to_find(query)


def matched(query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
    with _lock:
        return embedded.matched(_tokeniser(), query, texts)


def _pairs(text: str) -> Iterable[str]:
    if text.isascii():
        return
    for word in _LETTERS.findall(text):
        for run in runs_of_script(word):
            if _is_unspaced(run):
                yield from (run[at : at + 2] for at in range(len(run) - 1))


def _is_unspaced(word: str) -> bool:
    return not word.isascii() and spread_script(word[0]) != word[0]


def _stems(text: str) -> list[str]:
    with _lock:
        return embedded.stems_of(_tokeniser(), text)
