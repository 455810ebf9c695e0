"""A small BM25 over whole files, to stand beside the search of memsweep: alone, or with a second text of names a file.

Words are cut at everything but letters, digits and underscores; an identifier counts as a whole and by its parts.
The names of a file are the segments of its path and what it defines.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

_RUN = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\dA-Za-z_]+")
_DEFINED = re.compile(
    r"\b(?:def|class|function|func|fn|struct|interface|enum|trait|type|impl|module|namespace)\s+(?:\([^)\n]*\)\s*)?"
    r"([A-Za-z_]\w*)"
)
_K1, _B = 1.2, 0.75
Bag = Mapping[str, int]


def words(text: str) -> list[str]:
    """Lower-case words; `parse_config` gives itself, `parse` and `config`."""
    found: list[str] = []
    for run in _RUN.findall(text):
        parts = _PART.findall(run)
        found.append(run.lower())
        if len(parts) > 1:
            found += (part.lower() for part in parts)
    return found


@dataclass(frozen=True, slots=True)
class FileBags:
    """How often each word stands in a file, and in its names."""

    text: Bag
    names: Bag


@lru_cache(maxsize=20_000)
def read_bags(path: str, text: str) -> FileBags:
    """Cached, since most files stay as they are from one commit to the next."""
    return FileBags(Counter(words(text)), Counter(words(" ".join([path, *_DEFINED.findall(text)]))))


def rank(question: str, files: Mapping[str, FileBags], *, with_names: bool) -> list[str]:
    """The paths of all files that share a word with the question, best first."""
    asked = tuple(dict.fromkeys(words(question)))
    score = _scores(asked, {path: bags.text for path, bags in files.items()})
    if with_names:
        for path, more in _scores(asked, {path: bags.names for path, bags in files.items()}).items():
            score[path] += more
    return sorted((path for path in score if score[path] > 0), key=lambda path: (-score[path], path))


def _scores(asked: Sequence[str], bags: Mapping[str, Bag]) -> dict[str, float]:
    lengths = {path: sum(bag.values()) for path, bag in bags.items()}
    usual = sum(lengths.values()) / len(lengths) if lengths else 1.0
    score = dict.fromkeys(bags, 0.0)
    for word in asked:
        holders = [(path, bag[word]) for path, bag in bags.items() if word in bag]
        rarity = math.log(1 + (len(bags) - len(holders) + 0.5) / (len(holders) + 0.5))
        for path, times in holders:
            score[path] += rarity * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * lengths[path] / usual))
    return score
