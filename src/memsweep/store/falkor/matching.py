"""Which of some texts answer a query best: BM25 over what is at hand. Pure but for the tokeniser."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from memsweep.store.falkor.words import terms_of, terms_of_word, words_of

Word = tuple[float, Sequence[str]]  # how much it says, the terms that make it up
K, B = 1.2, 0.75
_MAX_WORDS = 32
_LEAST = 1e-6


def weight_of(total: int, having: int) -> float:
    """How much a word says that so many of all texts have."""
    return max(_LEAST, math.log((total - having + 0.5) / (having + 0.5)))


def scores(texts: Mapping[int, str], words: Sequence[Word]) -> dict[int, float]:
    """BM25 of each text, by place. The terms of a text are parted by spaces, and its length is their number."""
    lengths = [text.count(" ") + 1 for text in texts.values()]
    usual = sum(lengths) / max(1, len(texts))
    apart = [(weight, parts, f" {parts[0]} ") for weight, parts in words]
    found = dict.fromkeys(texts, 0.0)
    for (place, text), length in zip(texts.items(), lengths, strict=True):
        # Most texts have few of the words, so they are looked for in the text as it is, each by how it begins.
        padded, room = f" {text} ", K * (1 - B + B * (length / usual))
        for weight, parts, first in apart:
            if first in padded:
                times = _times(padded, parts, first)
                found[place] += weight * times * (K + 1) / (times + room)
    return found


def _times(padded: str, parts: Sequence[str], first: str) -> int:
    """How often a word stands in a text. Two of it in a row share a space, so there the terms have to be told apart."""
    if len(parts) == 1 and first + first[1:] not in padded:
        return padded.count(first)
    return min(map(padded.split(" ").count, parts))


def best_matches(query: str, texts: Mapping[int, str], everything: Sequence[str], count: int) -> dict[int, float]:
    """The best of `texts`, by place; how rare a word is decides `everything`."""
    parts = {word: found for word in words_of(query)[:_MAX_WORDS] if (found := terms_of_word(word))}
    if not parts or not texts:
        return {}
    having = Counter(word for text in everything for word in _words_in(terms_of(text), parts))
    words = [(weight_of(len(everything), having[word]), found) for word, found in parts.items()]
    found_at = scores({place: terms_of(text) for place, text in texts.items()}, words)
    ranked = sorted(found_at.items(), key=lambda item: (-item[1], item[0]))
    return {place: value for place, value in ranked[:count] if value > 0}


def _words_in(terms: str, parts: Mapping[str, Sequence[str]]) -> list[str]:
    here = set(terms.split(" "))
    return [word for word, wanted in parts.items() if here.issuperset(wanted)]
