"""The tokens of single words, from the tables in the tokeniser's file. Gives what the tokeniser's model gives.

Reading two tables takes a quarter of the time that the library needs to get ready. That is for a process that answers
one search; who has more words to look at soon makes up for the library.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path


class Pieces:
    """Byte pair encoding: of all neighbours, the pair that comes first in the table of merges becomes one."""

    def __init__(self, file: Path) -> None:
        config = json.loads(file.read_bytes())
        self.marks = [token["content"] for token in config["added_tokens"]]
        self._ids: dict[str, int] = config["model"]["vocab"]
        self._ranks = {pair: rank for rank, pair in enumerate(config["model"]["merges"])}

    def of(self, word: str) -> list[int]:
        pieces = [piece for letter in word for piece in self._of_letter(letter)]
        while len(pieces) > 1:
            ranks = [self._ranks.get(f"{left} {right}", math.inf) for left, right in pairwise(pieces)]
            first = min(ranks)
            if first == math.inf:
                break
            at = ranks.index(first)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return [self._ids[piece] for piece in pieces]

    def _of_letter(self, letter: str) -> list[str]:
        return [letter] if letter in self._ids else [f"<0x{byte:02X}>" for byte in letter.encode()]
