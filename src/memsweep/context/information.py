"""Information per token: what a segment says that nothing else does, over what it costs to keep."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import filterfalse
from math import exp, log

from memsweep.context.reading import Reader, Reading
from memsweep.context.weights import Weights
from memsweep.model.segment import ContextSegment


@dataclass(frozen=True, slots=True)
class _Row:
    """A segment as it was read: the words it was first to say, and whether it follows a question."""

    reading: Reading
    first: tuple[str, ...]
    answers: bool


class Lexicon:
    """What has been said so far, by whom first and how often; a segment is added once, at its own cost."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._reader = Reader()
        self._segments_with: dict[str, int] = {}
        self._segments_naming: dict[str, int] = {}
        self._rows: dict[str, _Row] = {}
        self._last_asked = False

    def add(self, segment: ContextSegment) -> None:
        """Read a segment, in session order; one that is known already is not read again."""
        if segment.segment_id in self._rows:
            return
        reading = self._reader.read(segment.text)
        known = self._segments_with
        first = tuple(filterfalse(known.__contains__, reading.words))
        self._rows[segment.segment_id] = _Row(reading, first, self._last_asked)
        self._last_asked = reading.ends_asking
        _count(reading.words, known)
        _count(reading.identifiers, self._segments_naming)

    def information(self, segment: ContextSegment) -> float:
        """Information per token in [0, 1]."""
        self.add(segment)
        weights, row = self._weights, self._rows[segment.segment_id]
        reading = row.reading
        speaker = "call" if segment.role == "assistant" and reading.is_call else segment.role or "user"
        bend = (
            weights.question_damping * reading.question_share
            + weights.answer_boost * row.answers
            + weights.code_damping * reading.code_share
        )
        said = self._said(row) * weights.speaker[speaker] * exp(bend)
        density = said / float((segment.tokens + weights.token_offset) ** weights.token_power)
        return density / (density + weights.half_information)

    def _said(self, row: _Row) -> float:
        """How much it says: words by rarity, more so if it was the first, identifiers, cues."""
        weights, reading = self._weights, row.reading
        said = weights.words * self._rarity(reading.words) + weights.novelty * self._rarity(row.first)
        said += weights.identifiers * len(reading.identifiers)
        said += weights.prose_identifiers * reading.prose_identifiers
        for identifier in reading.identifiers:
            said += weights.reuse * min(weights.reuse_limit, self._segments_naming[identifier] - 1)
        for cue, count in reading.cues.items():
            said += weights.cues[cue] * count
        return said

    def _rarity(self, words: tuple[str, ...]) -> float:
        """The sum of the words' inverse document frequencies."""
        return len(words) * log(len(self._rows) + 1) - sum(map(log, map(self._segments_with.__getitem__, words)))


def _count(items: tuple[str, ...], counts: dict[str, int]) -> None:
    for item in items:
        counts[item] = counts.get(item, 0) + 1
