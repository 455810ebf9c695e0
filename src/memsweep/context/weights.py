"""Every number the default policy uses, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def _table(**values: float) -> Mapping[str, float]:
    return MappingProxyType(values)


@dataclass(frozen=True, slots=True)
class Weights:
    """The first block weighs the parts of `keep_score`; the others say how each part is made."""

    information: float = 0.60
    recency: float = 0.15
    references: float = 0.10
    type: float = 0.10
    generation: float = 0.05
    redundancy: float = 0.9
    """The share of its score that a fully redundant segment loses."""

    half_life_hours: Mapping[str, float] = field(
        default_factory=lambda: _table(decision=168, summary=168, note=72, code=24, message=24, log=6)
    )
    type_worth: Mapping[str, float] = field(
        default_factory=lambda: _table(decision=1.0, note=0.8, summary=0.7, code=0.6, message=0.5, log=0.2)
    )
    generation_worth: Mapping[str, float] = field(default_factory=lambda: _table(young=1.0, old=0.5))
    soft_share: float = 0.2
    """The share of a budget that soft roots may fill before the rest is chosen by score; half of it at most."""
    half_references: float = 2.0
    """So many strong references are worth half of what endless references are."""
    weak_link: float = 0.25
    """The weight of the logarithm of the number of weak links, in strong references."""

    # Information per token: what a segment says, over what it costs.
    words: float = 0.32
    novelty: float = 0.24
    """The weight of the words that a segment was first to say, on top of `words`."""
    identifiers: float = 0.76
    prose_identifiers: float = 4.45
    reuse: float = 0.04
    reuse_limit: int = 3
    cues: Mapping[str, float] = field(
        default_factory=lambda: _table(self=2.0, past=2.6, time=4.2, name=3.1, number=1.2, choice=2.0, denial=0.2)
    )
    declared: Mapping[str, float] = field(default_factory=lambda: _table(decision=160.0, note=20.0, summary=20.0))
    """The weight of a decision, a note or a summary, in the same unit as the cues."""
    speaker: Mapping[str, float] = field(
        default_factory=lambda: _table(user=1.0, assistant=0.57, tool=1.08, call=1.11, system=1.0)
    )
    """The weight of the speaker; an assistant's tool call is a speaker of its own."""
    question_damping: float = -0.08
    answer_boost: float = 0.05
    code_damping: float = -0.56
    opening: float = 1.6
    """The weight of being long and early: the plans that a session opens with are what it comes back to."""
    opening_tokens: float = 400.0
    """A segment of this length counts as half long."""
    opening_places: float = 40.0
    """After so many segments, half of the opening is over."""
    token_offset: float = 30.0
    token_power: float = 1.17
    half_information: float = 0.4
    """The density at which the information part is one half."""
