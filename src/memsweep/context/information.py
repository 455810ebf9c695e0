"""Information per token: what a segment says that nothing else does, over what it costs to keep."""

from __future__ import annotations

from collections import Counter
from itertools import filterfalse
from math import exp, log

from memsweep.context.reading import CUE_LIMIT, Reading, TextReader
from memsweep.context.weights import Weights
from memsweep.model.segment import ContextSegment

_Row = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], float, float]
"""A segment as it was read: its words, those it was first to say, its identifiers; what identifiers and cues are
worth whoever else has them; what a unit of all this counts for (who says it and how, over what it costs). A plain
tuple, because Python's own collector need not visit those."""


class Lexicon:
    """The words so far, by whom first and how often; a segment is added once, at its own cost."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._reader = TextReader()
        self._segments_with: Counter[str] = Counter()
        self._segments_naming: Counter[str] = Counter()
        self._rows: dict[str, _Row] = {}
        self._last_asked = False

    def add(self, segment: ContextSegment) -> None:
        """Read a segment, in session order; one that is known already is not read again."""
        if segment.segment_id in self._rows:
            return
        reading = self._reader.read(segment.text)
        first = tuple(filterfalse(self._segments_with.__contains__, reading.words))
        stated = self._stated(reading) + self._weights.declared.get(segment.type, 0.0)
        per_token = self._per_token(segment, reading)
        self._rows[segment.segment_id] = (reading.words, first, reading.identifiers, stated, per_token)
        self._last_asked = reading.ends_asking
        self._segments_with.update(reading.words)
        self._segments_naming.update(reading.identifiers)

    def information(self, segment: ContextSegment) -> float:
        """Information per token in [0, 1]: words by rarity, more so if it was the first, identifiers, cues."""
        self.add(segment)
        weights = self._weights
        words, first, identifiers, said, per_token = self._rows[segment.segment_id]
        said += weights.words * self._rarity(words) + weights.novelty * self._rarity(first)
        for identifier in identifiers:
            said += weights.reuse * min(weights.reuse_limit, self._segments_naming[identifier] - 1)
        density = said * per_token
        return density / (density + weights.half_information)

    def _stated(self, reading: Reading) -> float:
        weights = self._weights
        stated = weights.identifiers * len(reading.identifiers) + weights.prose_identifiers * reading.prose_identifiers
        for cue, count in reading.cues.items():
            stated += weights.cues[cue] * min(CUE_LIMIT, count)
        return stated

    def _per_token(self, segment: ContextSegment, reading: Reading) -> float:
        weights = self._weights
        speaker = "call" if segment.role == "assistant" and reading.is_call else segment.role or "user"
        bend = (
            weights.question_damping * reading.question_share
            + weights.answer_boost * self._last_asked
            + weights.code_damping * reading.code_share
            + weights.opening * _opening(segment.tokens, len(self._rows), weights)
        )
        return float(
            weights.speaker[speaker] * exp(bend) / (segment.tokens + weights.token_offset) ** weights.token_power
        )

    def _rarity(self, words: tuple[str, ...]) -> float:
        """The sum of the words' inverse document frequencies."""
        return len(words) * log(len(self._rows) + 1) - sum(map(log, map(self._segments_with.__getitem__, words)))


def _opening(tokens: int, place: int, weights: Weights) -> float:
    """Return how far a segment is one of the long ones at the start of the session, in [0, 1]."""
    return tokens / (tokens + weights.opening_tokens) / (1 + place / weights.opening_places)
