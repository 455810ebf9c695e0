"""The tokens of single words, from the table in the tokeniser's file. Gives what the tokeniser's model gives.

Reading the table takes an eighth of the time that the library needs to get ready. That is for a process that answers
one search; who has more words to look at soon makes up for the library.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

_SPACE = "▁"
_NONE = 1 << 30
_FIRST_TEXT = 259
"""The tokens before are three marks and the 256 bytes. Every other is what its own letters are merged to."""
Rank = tuple[bool, int, int, int]


class Pieces:
    """Byte pair encoding: of all neighbours, the pair that comes first in the table of merges becomes one.

    That table is three times as long as the vocabulary and follows from it: whatever has two parts that are tokens can
    be merged of them, in the order of its number and theirs, and runs of spaces come last.
    """

    def __init__(self, file: Path) -> None:
        raw = file.read_bytes()
        self.marks = [token["content"] for token in _part(raw, b'"added_tokens": ', b'"normalizer": ')]
        self._ids: dict[str, int] = _part(raw, b'"vocab": ', b'"merges": ')

    def of(self, word: str) -> list[int]:
        if (whole := self._ids.get(word, 0)) >= _FIRST_TEXT:
            return [whole]
        pieces = [piece for letter in word for piece in self._of_letter(letter)]
        while len(pieces) > 1:
            pairs = [left + right for left, right in pairwise(pieces)]
            ids = [self._ids.get(pair, _NONE) for pair in pairs]
            if (first := min(ids)) == _NONE:
                break
            at = ids.index(first)
            if ids.count(first) > 1 or not pairs[at].strip(_SPACE):  # seldom: it is not the number alone that decides
                at = min((rank, at) for at, pair in enumerate(pairwise(pieces)) if (rank := self.rank(*pair)))[1]
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return [self._ids[piece] for piece in pieces]

    def rank(self, left: str, right: str) -> Rank | None:
        """Return the place of the pair in the table of merges; None if it is not there."""
        both = self._ids.get(left + right)
        return None if both is None else (not (left + right).strip(_SPACE), both, self._ids[left], self._ids[right])

    def _of_letter(self, letter: str) -> list[str]:
        return [letter] if letter in self._ids else [f"<0x{byte:02X}>" for byte in letter.encode()]


def _part(raw: bytes, name: bytes, following: bytes) -> Any:
    """Return the JSON between two names of a file; to read the whole file would take twice as long."""
    start = raw.index(name) + len(name)
    return json.JSONDecoder().raw_decode(raw[start : raw.index(following, start)].decode())[0]
