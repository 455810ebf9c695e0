"""Which of some texts answer a query best: BM25 over what is at hand. Pure but for the tokeniser."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memsweep.store.falkor.words import terms_of, terms_of_word, words_of

Word = tuple[float, Sequence[str], str]  # how much it says, the terms that make it up, the first as it stands in a text
K, B = 1.2, 0.75
_MAX_WORDS = 32
_LEAST = 1e-6


def weight_of(total: int, having: int) -> float:
    """How much a word says that so many of all texts have."""
    return max(_LEAST, math.log((total - having + 0.5) / (having + 0.5)))


def score(text: str, length: float, words: Iterable[Word]) -> float:
    """BM25 of the terms of one text; `length` is in usual lengths.

    Most texts have few of the words, and whether one has a term at all is told faster than how often.
    """
    total, room, padded = 0.0, K * (1 - B + B * length), f" {text} "
    terms: list[str] = []
    for weight, parts, first in words:
        if first in padded:
            terms = terms or text.split(" ")
            times = min(map(terms.count, parts))
            total += weight * times * (K + 1) / (times + room)
    return total


def word_of(weight: float, parts: Sequence[str]) -> Word:
    return weight, parts, f" {parts[0]} "


def length_of(text: str) -> int:
    return text.count(" ") + 1


def best_matches(query: str, texts: Mapping[int, str], everything: Sequence[str], count: int) -> dict[int, float]:
    """The best of `texts`, by place; how rare a word is decides `everything`."""
    parts = {word: found for word in words_of(query)[:_MAX_WORDS] if (found := terms_of_word(word))}
    if not parts or not texts:
        return {}
    having = Counter(word for text in everything for word in _words_in(terms_of(text), parts))
    words = [word_of(weight_of(len(everything), having[word]), found) for word, found in parts.items()]
    terms_at = {place: terms_of(text) for place, text in texts.items()}
    usual = sum(map(length_of, terms_at.values())) / len(terms_at)
    scores = {place: score(terms, length_of(terms) / usual, words) for place, terms in terms_at.items()}
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return {place: value for place, value in ranked[:count] if value > 0}


def _words_in(terms: str, parts: Mapping[str, Sequence[str]]) -> list[str]:
    here = set(terms.split(" "))
    return [word for word, wanted in parts.items() if here.issuperset(wanted)]
