"""Secrets that are known by their value: what stands after "the password is" in one place stands bare in others. Pure.

A value is known elsewhere if it cannot be a word or a number: eight characters or more, a letter and a digit among
them, nothing that ends a word. It is found there as a whole word, in one pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memsweep.secrets.find import found_in, mark, redacted

_SHORTEST = 8
_LONG_NAME = 16
_WORD = re.compile(r"[^\s\"'`<>,;()\[\]{}“”*|]{8,}+")
_ENDS = ("", ".:?", ".:?!")
"""What may stand around a word; a password may end with an exclamation mark, and so may a sentence."""


class Known:
    """The secrets of some texts, with their kinds."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        found = secrets or {}
        self._values = {value: kind for value, kind in found.items() if _is_unmistakable(value)}
        self._long: dict[str, list[tuple[str, str]]] = {}  # by how they begin: names are looked through once for all
        for value, kind in found.items():
            if len(value) >= _LONG_NAME:
                self._long.setdefault(value[:_LONG_NAME], []).append((value, kind))

    def redacted(self, text: str, *, keep_lines: bool = False) -> tuple[str, tuple[str, ...]]:
        """A text without what a rule finds in it, and without what is known; and the kinds."""
        text, kinds = redacted(text, keep_lines=keep_lines)
        text, bare = self.bare(text)
        return text, tuple(dict.fromkeys((*kinds, *bare)))

    def bare(self, text: str) -> tuple[str, tuple[str, ...]]:
        """A text without what is known, and the kinds."""
        if not (found := self.within(text)):
            return text, ()
        return _WORD.sub(lambda word: self._marked(word[0]), text), tuple(dict.fromkeys(found.values()))

    def name(self, name: str) -> tuple[str, tuple[str, ...]]:
        """A name without either. Of `SECRET_KEY=…` it may have only the value, or a longer name a value within."""
        if (kind := self._values.get(name)) is not None:
            return mark(kind), (kind,)
        name, kinds = self.redacted(name)
        for secret, kind in self._long_within(name):
            if secret in name:
                name, kinds = name.replace(secret, mark(kind)), (*kinds, kind)
        return name, tuple(dict.fromkeys(kinds))

    def _long_within(self, name: str) -> list[tuple[str, str]]:
        """The longest first: another may be a part of it, and gone with it."""
        starts = range(len(name) - _LONG_NAME + 1) if self._long else ()
        found = [
            (secret, kind)
            for at in starts
            for secret, kind in self._long.get(name[at : at + _LONG_NAME], ())
            if name.startswith(secret, at)
        ]
        return sorted(set(found), key=lambda each: -len(each[0]))

    def within(self, text: str) -> dict[str, str]:
        """Return the known secrets among the words of a text."""
        words = map(self._secret, _WORD.findall(text)) if self._values else ()
        return {word: self._values[word] for word in words if word is not None}

    def _secret(self, word: str) -> str | None:
        forms = (word.strip(ends) if ends else word for ends in _ENDS)
        return next((form for form in forms if form in self._values), None)

    def _marked(self, word: str) -> str:
        secret = self._secret(word)
        return word if secret is None else word.replace(secret, mark(self._values[secret]))


def shown(text: str, kind: str) -> str:
    """A text in which a known value stands, for people: without any word that could be one."""

    def as_shown(word: re.Match[str]) -> str:
        return mark(kind) if _is_unmistakable(word[0]) else word[0]

    return _WORD.sub(as_shown, redacted(text)[0])


def secrets_of(text: str) -> dict[str, str]:
    """The secrets of a text that may stand elsewhere, with their kinds."""
    return {value: kind for value, kind in found_in(text).items() if len(value) >= _SHORTEST}


def _is_unmistakable(value: str) -> bool:
    """No word that people use, no phrase, and no number: a date is a number, too."""
    has_both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return len(value) >= _SHORTEST and has_both and not any(map(str.isspace, value))
