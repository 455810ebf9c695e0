"""Words of a text as the full text holds them: the same stems as the embedded engine, cut by the same tokeniser.

The server's own stemmer knows no accents and no unspaced scripts. So a chunk carries its `terms`: stems, and for
scripts without spaces every letter and every pair of letters, which finds parts of a run without a phrase.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import apsw

from memsweep.forking import new_lock
from memsweep.model.code import CODE_RELATIONS
from memsweep.store.file import words as embedded
from memsweep.store.file.words import runs_of_script, spread_script

CODE_KINDS = frozenset(kind.lower() for kind in CODE_RELATIONS)
_LETTERS = re.compile(r"\w+")
_lock = new_lock()


@cache
def _tokeniser() -> apsw.Connection:
    return apsw.Connection(":memory:")


def terms_of(text: str, extra: str = "") -> str:
    """Return the full text of a chunk."""
    stems = _stems(f"{text} {extra}" if extra else text)
    return " ".join([*stems, *_pairs(text), *_pairs(extra)])


def sought_by(terms: str) -> dict[str, Any]:
    """Return the properties that a chunk with these terms keeps of them."""
    return {"terms": terms, "length": length_of(terms)}


def length_of(terms: str) -> int:
    """The number of stems, as the embedded engine counts them: without the pairs of letters."""
    count = terms.count(" ") + 1
    if terms.isascii():
        return count
    return count - sum(len(term) == 2 and _is_unspaced(term) for term in terms.split(" "))


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
    """Return the terms that a chunk with this word has."""
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


def told(relation_key: str) -> str | None:
    """Return the kind of a relation that is no code, in the form that an index finds; None for code."""
    return None if relation_key in CODE_KINDS else relation_key
