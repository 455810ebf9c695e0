"""Which of some texts answer a query best: BM25 over what is at hand. Pure but for the tokeniser."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memsweep.store.falkor.words import terms_of, terms_of_word, words_of

K, B = 1.2, 0.75
_MAX_WORDS = 32
_LEAST = 1e-6


def weight_of(total: int, having: int) -> float:
    """How much a word says that so many of all texts have."""
    return max(_LEAST, math.log((total - having + 0.5) / (having + 0.5)))


def score(terms: Sequence[str], length: float, words: Iterable[tuple[float, Sequence[str]]]) -> float:
    """BM25 of one text; `length` is in usual lengths; each word is its weight and the terms that make it up."""
    total, room = 0.0, K * (1 - B + B * length)
    for weight, parts in words:
        times = terms.count(parts[0]) if len(parts) == 1 else min(map(terms.count, parts))
        total += weight * times * (K + 1) / (times + room)
    return total


def best_matches(query: str, texts: Mapping[int, str], everything: Sequence[str], count: int) -> dict[int, float]:
    """The best of `texts`, by place; how rare a word is decides `everything`."""
    parts = {word: found for word in words_of(query)[:_MAX_WORDS] if (found := terms_of_word(word))}
    if not parts or not texts:
        return {}
    having = Counter(word for text in everything for word in _words_in(terms_of(text), parts))
    words = [(weight_of(len(everything), having[word]), terms) for word, terms in parts.items()]
    split = {place: terms_of(text).split(" ") for place, text in texts.items()}
    usual = sum(map(len, split.values())) / len(split)
    scores = {place: score(terms, len(terms) / usual, words) for place, terms in split.items()}
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return {place: value for place, value in ranked[:count] if value > 0}


def _words_in(terms: str, parts: Mapping[str, Sequence[str]]) -> list[str]:
    here = set(terms.split(" "))
    return [word for word, wanted in parts.items() if here.issuperset(wanted)]
