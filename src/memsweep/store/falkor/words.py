"""Words of a text as the full text holds them: the same stems as the embedded engine, cut by the same tokeniser.

The server's own stemmer knows no accents and no unspaced scripts. So a chunk carries its `terms`: stems, and for
scripts without spaces every letter and every pair of letters, which finds parts of a run without a phrase.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memsweep.model.code import CODE_RELATIONS
from memsweep.numeric import numpy_for
from memsweep.store.words import (
    B,
    K,
    runs_of_script,
    spread_script,
    stems_of,
    weight_of,
    words_of,
)

CODE_KINDS = frozenset(kind.lower() for kind in CODE_RELATIONS)
_LETTERS = re.compile(r"\w+")


def terms_of(text: str, extra: str = "") -> str:
    """Return the full text of a chunk."""
    stems = stems_of(f"{text} {extra}" if extra else text)
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
    return [stem for stem in stems_of(word) if _LETTERS.fullmatch(stem)]


def _pairs(text: str) -> Iterable[str]:
    if text.isascii():
        return
    for word in _LETTERS.findall(text):
        for run in runs_of_script(word):
            if _is_unspaced(run):
                yield from (run[at : at + 2] for at in range(len(run) - 1))


def _is_unspaced(word: str) -> bool:
    return not word.isascii() and spread_script(word[0]) != word[0]


def told(relation_key: str) -> str | None:
    """Return the kind of a relation that is no code, in the form that an index finds; None for code."""
    return None if relation_key in CODE_KINDS else relation_key


# BM25 over what is at hand. Pure but for the tokeniser.

Word = tuple[float, Sequence[str]]  # how much it says, the terms that make it up
_MAX_WORDS = 32
_USUAL_LENGTH = 40  # terms
_EIGHT = "\0" * 8


def scores(texts: Mapping[int, str], words: Sequence[Word], usual: float) -> dict[int, float]:
    """BM25 of each text, by place. The terms of a text are parted by spaces; `usual` is the length of all there are."""
    np = numpy_for(len(texts) * _USUAL_LENGTH) if texts else None
    return _one_by_one(texts, words, usual) if np is None else _all_at_once(np, texts, words, usual)


def _one_by_one(texts: Mapping[int, str], words: Sequence[Word], usual: float) -> dict[int, float]:
    found = dict.fromkeys(texts, 0.0)
    for place, text in texts.items():
        terms, room = text.split(" "), K * (1 - B + B * (length_of(text) / usual))
        here = set(terms)  # most texts have few of the words
        for weight, parts in words:
            if here.issuperset(parts):
                times = min(map(terms.count, parts))
                found[place] += weight * times * (K + 1) / (times + room)
    return found


def _all_at_once(np: Any, texts: Mapping[int, str], words: Sequence[Word], usual: float) -> dict[int, float]:
    """The same numbers: each is worked out by the same steps."""
    laid = _Laid(np, texts.values())
    room = K * (1 - B + B * (np.array(list(map(length_of, texts.values()))) / usual))
    found = np.zeros(len(texts))
    for weight, parts in words:
        times = functools.reduce(np.minimum, map(laid.times, parts))
        found += weight * times * (K + 1) / (times + room)
    return dict(zip(texts, found.tolist(), strict=True))


class _Laid:
    """Texts one behind the other, each with a bar behind it. A term is told by the eight bytes that it ends with, as
    one number: so each word is compared with 70,000 numbers, instead of being looked for in half a megabyte."""

    def __init__(self, np: Any, texts: Iterable[str]) -> None:
        self._np = np
        self._data = f"{_EIGHT} {' | '.join(texts)} | ".encode()
        # Where each term ends; what ends first is no term.
        self._ends = np.flatnonzero(np.frombuffer(self._data, np.uint8) == ord(" "))
        self._tails = np.ndarray(len(self._data) - 7, "<u8", self._data, strides=(1,))[self._ends - 8]
        self._bars = self._ending(b" |")

    def times(self, term: str) -> Any:
        """Return how often each of the texts has a term."""
        np, said = self._np, f" {term}".encode()
        spots = self._ending(said[-8:])
        if len(said) > 8:
            spots = [spot for spot in spots.tolist() if self._data.endswith(said, 0, int(self._ends[spot]))]
        return np.bincount(np.searchsorted(self._bars, spots), minlength=len(self._bars))

    def _ending(self, tail: bytes) -> Any:
        np = self._np
        tails = self._tails >> np.uint64(64 - 8 * len(tail))
        return np.flatnonzero(tails == np.uint64(int.from_bytes(tail, "little")))


def best_matches(query: str, texts: Mapping[int, str], everything: Sequence[str], count: int) -> dict[int, float]:
    """The best of `texts`, by place; how rare a word is decides `everything`."""
    parts = {word: found for word in words_of(query)[:_MAX_WORDS] if (found := terms_of_word(word))}
    if not parts or not texts:
        return {}
    said = list(map(terms_of, everything))
    having = Counter(word for terms in said for word in _words_in(terms, parts))
    words = [(weight_of(len(said), having[word]), found) for word, found in parts.items()]
    usual = sum(map(length_of, said)) / len(said)
    found_at = scores({place: terms_of(text) for place, text in texts.items()}, words, usual)
    ranked = sorted(found_at.items(), key=lambda item: (-item[1], item[0]))
    return {place: value for place, value in ranked[:count] if value > 0}


def _words_in(terms: str, parts: Mapping[str, Sequence[str]]) -> list[str]:
    here = set(terms.split(" "))
    return [word for word, wanted in parts.items() if here.issuperset(wanted)]
