"""The tokens of short texts, put together from those of their words, most of which were met before.

That is exact: no token of the bundled model reaches from a word over the space behind it. Where all words are
known it is six times as fast as the tokeniser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from memsweep.embed.pieces import Pieces

_WORD = re.compile(" +[^ ]*")
_LONG = 32  # characters; a longer word is hardly met again
_MOST = 16_384  # words: about 5 MB, four times as much if they are all long and of many tokens
_FEW = 2048  # words; for more it pays to load the tokeniser


class WordTokens:
    """Gives what the tokeniser gives, for any text."""

    def __init__(self, load: Callable[[], Any], pieces: Pieces | None = None) -> None:
        """`load` gives the tokeniser; `pieces` are for the first words, until it is worth while."""
        self._load, self._pieces = load, pieces
        marks = pieces.marks if pieces else (each.content for each in load().get_added_tokens_decoder().values())
        self._marks = ["▁", *marks]
        self._known: dict[str, list[int]] = {}

    def of(self, text: str) -> list[int]:
        ids: list[int] = []
        if any(mark in text for mark in self._marks):
            ids += self._load().encode(text, add_special_tokens=False).ids
            return ids
        known = self._known
        for word in _WORD.findall(f" {text}") if text else ():
            ids += known[word] if word in known else self._learn(word)
        return ids

    def _learn(self, word: str) -> list[int]:
        ids = self._cut(word.replace(" ", "▁"))
        if len(word) <= _LONG:
            if len(self._known) >= _MOST:
                self._known = {}
            self._known[word] = ids
        return ids

    def _cut(self, word: str) -> list[int]:
        if len(self._known) >= _FEW:
            self._pieces = None
        if (pieces := self._pieces) is not None and len(word) <= _LONG:
            return pieces.of(word)
        return [token.id for token in self._load().model.tokenize(word)]
