"""How relevant a passage is to a query, from 0 to 1, by the evidence of these two alone. Pure.

The same passage has the same relevance to the same query in every workspace, whatever else is found. The weights are
fitted on questions of our own (`benchmarks/relevance.py`), for each embedding model. They are scaled so that
at 0.5 the evidence speaks for the passage as much as against it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from memsweep.model.search import Passage

_WORD = re.compile(r"[^\W_]+")
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENDS_A_SENTENCE = re.compile(r"[.!?:]\s*$")


class Evidence(NamedTuple):
    """What speaks for a passage: the cosine, and the shares of the query's words it has and of the names it lacks."""

    similarity: float
    share: float
    lacking: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What each kind of evidence is worth, as logarithms of odds."""

    base: float
    similarity: float
    share: float
    """Of the square of the share: one word of several says next to nothing."""
    all_words: float
    lacking: float

    def odds(self, evidence: Evidence) -> float:
        """The logarithm of the odds that the passage is relevant."""
        return (
            self.base
            + self.similarity * evidence.similarity
            + self.share * evidence.share**2
            + self.all_words * (evidence.share == 1)
            + self.lacking * evidence.lacking
        )


# By name of the embedding model: what a cosine means differs from model to model.
CALIBRATIONS = {
    "wordllama-l2-supercat-256": Calibration(-1.33, 7.18, 1.63, 5.84, -1.37),
    "all-MiniLM-L6-v2-int8": Calibration(-2.87, 10.77, 0.0, 6.84, -1.4),
}
WORDS_ALONE = Calibration(-0.33, 0.0, 9.24, 1.46, -1.73)
"""For a model that was not measured."""


MOST_WORDS = 24
"""A longer query is a text more than a question, and nobody has measured what its words say."""


def is_measured(model: str, asked: Collection[str]) -> bool:
    return model in CALIBRATIONS and len(asked) <= MOST_WORDS


def calibration_for(model: str) -> Calibration:
    return CALIBRATIONS.get(model, WORDS_ALONE)


def relevance_of(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, odds)))


def evidence_of(similarity: float, asked: Collection[str], names: Collection[str], found: Collection[str]) -> Evidence:
    """`asked` are the words of the query, `names` those of them that are names, `found` those the passage has."""
    share = len(found) / len(asked) if asked else 0.0
    lacking = len(set(names).difference(found)) / len(names) if names else 0.0
    return Evidence(similarity, share, lacking)


def names_in(query: str, asked: Collection[str]) -> frozenset[str]:
    """The words that look like names: capitals inside of a sentence, or digits."""
    spots = list(_WORD.finditer(query))
    if all(not spot.group()[0].islower() for spot in spots):
        return frozenset()  # a title, or a name alone, which says nothing about its words
    inside = (spot for spot in spots if _is_named(spot.group(), query[: spot.start()]))
    return frozenset(spot.group().lower() for spot in inside).intersection(asked)


def _is_named(word: str, before: str) -> bool:
    if any(letter.isdigit() for letter in word):
        return True
    return word[0].isupper() and bool(before.strip()) and not _ENDS_A_SENTENCE.search(before)


def words_to_match(passage: Passage) -> str:
    """What the full text knows of a passage: its text, and of code the words inside the names of file and symbol."""
    if passage.code is None:
        return passage.text
    folders, _, file = passage.code.path.rpartition("/")
    names = (*folders.split("/"), file.partition(".")[0] or file, *(passage.code.symbol or "").split("."))
    parts = [_NAME_PARTS.findall(name) for name in names]
    return " ".join([passage.text, *(word for each in parts for word in (*each, "".join(each)))])
