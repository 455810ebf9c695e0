"""Find names in a sentence by looking them up, which takes as long for a hundred thousand names as for one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_TOKEN = re.compile(r"\w+|\W")

_Index = Mapping[str, Mapping[int, set[str]]]
"""Names by the word they begin with, then by length, the longest first."""


class Span(NamedTuple):
    start: int
    end: int
    text: str


class NameFinder:
    """`exact` names are found as they are written, and before the others, which are found in any letter case."""

    def __init__(self, exact: Iterable[str], folded: Iterable[str]) -> None:
        self._exact = _index(exact)
        self._folded = _index(map(_lower, folded))

    def spans(self, sentence: str) -> list[Span]:
        """Whole words only; from left to right, the longest first, none over another."""
        found: list[Span] = []
        low = _lower(sentence)
        at = 0
        for token in _TOKEN.finditer(sentence):
            start, end = token.span()
            if start < at or _is_word(sentence, start - 1):
                continue
            size = _longest(self._exact.get(sentence[start:end]), sentence, start)
            if size := size or _longest(self._folded.get(low[start:end]), low, start):
                at = start + size
                found.append(Span(start, at, sentence[start:at]))
        return found


def _longest(names: Mapping[int, set[str]] | None, text: str, start: int) -> int:
    for size, same_size in (names or {}).items():
        if text[start : start + size] in same_size and not _is_word(text, start + size):
            return size
    return 0


def _is_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def _lower(text: str) -> str:
    """Letter by letter, where one of them would become two."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(each.lower()[0] for each in text)


def _index(names: Iterable[str]) -> _Index:
    found: dict[str, dict[int, set[str]]] = {}
    for name in sorted(names, key=len, reverse=True):
        if token := _TOKEN.match(name):
            found.setdefault(token.group(), {}).setdefault(len(name), set()).add(name)
    return found
