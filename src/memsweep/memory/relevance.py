"""How relevant a passage is to a query, from 0 to 1, by the evidence of these two alone. Pure.

The same passage has the same relevance to the same query in every workspace, whatever else is found, among those that a
reader has read and among those that none has. The weights are fitted on questions of our own
(`benchmarks/relevance.py`, `code_relevance.py`), for each embedding model, for what was read and for code apart. They
are scaled so that at 0.5 the evidence speaks for the passage as much as against it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from memsweep.model.frozen import frozen
from memsweep.model.search import Passage

_WORD = re.compile(r"[^\W_]+")
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_AS_GOOD_AS_ALL = 4, 0.5  # words of a question, and a share of the words of a longer one
_ENDS_OF_SENTENCES = frozenset(".!?:")


class Evidence(NamedTuple):
    """What speaks for a passage: the cosine, and the shares of the query's words it has and of the names it lacks; how
    much it has nothing like one of the words, and a rare one; what a model said that read both together; how many of
    the words it has, up to 4, which is as good as all."""

    similarity: float
    share: float
    lacking: float
    uncovered: float = 0.0
    reading: float | None = None
    words: float = 0.0


@frozen
class Calibration:
    """What each kind of evidence is worth, as logarithms of odds."""

    base: float
    similarity: float
    share: float
    """Of the square of the share: one word of several says next to nothing."""
    all_words: float
    lacking: float
    uncovered: float = 0.0
    reading: float = 0.0
    each_word: float = 0.0
    """Of a long question no piece of code has all words, and much code has one."""

    def odds(self, evidence: Evidence) -> float:
        """The logarithm of the odds that the passage is relevant."""
        return (
            self.base
            + self.similarity * evidence.similarity
            + self.share * evidence.share**2
            + self.all_words * (evidence.share == 1)
            + self.lacking * evidence.lacking
            + self.uncovered * evidence.uncovered
            + self.reading * (evidence.reading or 0.0)
            + self.each_word * evidence.words
        )


# By name of the embedding model: what a cosine means differs from model to model.
CALIBRATIONS = {
    "wordllama-l2-supercat-256": Calibration(2.91, 6.18, 0.84, 3.32, -1.21, -5.18),
    "all-MiniLM-L6-v2-int8": Calibration(-0.48, 10.03, 0.0, 5.08, -1.31, -2.78),
}
# The same for passages that a reader has read, whatever model embeds: a cosine adds nothing.
READ = Calibration(4.71, 0.0, 0.0, 0.0, -0.8, -4.6, 1.01)
# The same for pieces of code, which resemble everything a little and have few words of a question.
CODE_CALIBRATIONS = {
    "wordllama-l2-supercat-256": Calibration(-3.23, 5.49, 0.0, 0.0, 0.0, each_word=0.86),
    "all-MiniLM-L6-v2-int8": Calibration(-3.86, 9.17, 0.0, 0.65, 0.0, each_word=0.44),
}
CODE_BY_WORDS = Calibration(-1.71, 0.0, 0.0, 0.86, 0.0, each_word=0.84)
WORDS_ALONE = Calibration(-0.33, 0.0, 9.24, 1.46, -1.73)
"""For a model that was not measured."""


MOST_WORDS = 24
"""A longer query is a text more than a question, and nobody has measured what its words say."""


def is_measured(model: str, asked: Collection[str]) -> bool:
    return model in CALIBRATIONS and len(asked) <= MOST_WORDS


def calibration_for(model: str, *, read: bool = False, code: bool = False) -> Calibration:
    if code:
        return CODE_CALIBRATIONS.get(model, CODE_BY_WORDS)
    return READ if read else CALIBRATIONS.get(model, WORDS_ALONE)


def relevance_of(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, odds)))


class Asked(NamedTuple):
    """The words of a query: which of them are names, and how rare each is, if that counts."""

    words: tuple[str, ...]
    names: frozenset[str]
    rarities: tuple[float, ...] = ()


def evidence_of(
    similarity: float,
    asked: Asked,
    found: Collection[str],
    nearest: Sequence[float] = (),
    reading: float | None = None,
) -> Evidence:
    """`found` are the words of the query that a passage has, `nearest` how close it comes to each."""
    share = len(found) / len(asked.words) if asked.words else 0.0
    lacking = len(asked.names.difference(found)) / len(asked.names) if asked.names else 0.0
    missing = zip(asked.words, asked.rarities, nearest, strict=False)
    uncovered = max((rarity * (1 - close) for word, rarity, close in missing if word not in found), default=0.0)
    return Evidence(similarity, share, lacking, uncovered, reading, _words_met(len(found), len(asked.words)))


def _words_met(found: int, asked: int) -> float:
    most, part = _AS_GOOD_AS_ALL
    return float(most) if found == asked > 0 else most * min(1.0, found / max(most, part * asked))


def names_in(query: str, asked: Collection[str]) -> frozenset[str]:
    """The words that look like names: capitals inside of a sentence, or digits."""
    spots = list(_WORD.finditer(query))
    if all(not spot.group()[0].islower() for spot in spots):
        return frozenset()  # a title, or a name alone, which says nothing about its words
    pairs = zip([0, *(spot.end() for spot in spots)], spots, strict=False)
    named = (spot for end, spot in pairs if _is_named(spot.group(), query[end : spot.start()], end))
    return frozenset(spot.group().lower() for spot in named).intersection(asked)


def _is_named(word: str, gap: str, before: int) -> bool:
    """`gap` is what stands between it and the word that ends at `before`; 0 if it is the first."""
    if any(letter.isdigit() for letter in word):
        return True
    gap = gap.rstrip()
    return word[0].isupper() and bool(before or gap) and gap[-1:] not in _ENDS_OF_SENTENCES


def words_to_match(passage: Passage) -> str:
    """What the full text knows of a passage: its text, and of code the words inside the names of file and symbol."""
    if passage.code is None:
        return passage.text
    folders, _, file = passage.code.path.rpartition("/")
    names = (*folders.split("/"), file.partition(".")[0] or file, *(passage.code.symbol or "").split("."))
    parts = [_NAME_PARTS.findall(name) for name in names]
    return " ".join([passage.text, *(word for each in parts for word in (*each, "".join(each)))])
