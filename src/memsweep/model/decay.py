"""The law of fading: how sure we still are of a fact that nobody has confirmed for a while. Pure.

The stored value is never overwritten by its own decay: what counts now is computed from the value at
the last confirmation and the time since. So decaying twice, every night or never gives the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from memsweep.model.frozen import field, frozen
from memsweep.model.text import name_key

# What is left after a day without confirmation, by type.
DEFAULT_RATES: Mapping[str, float] = {
    "person": 0.998,
    "project": 0.995,
    "preference": 0.999,
    "concept": 0.999,
    "decision": 0.997,
    "fact": 0.996,
    "event": 0.993,
    "object": 0.996,
    "rule": 1.0,
}
DEFAULT_RATE = 0.996
DEFAULT_EDGE_RATE = 0.997
MENTION_GAIN = 0.05
CONFIRM_GAIN = 0.15
CORRECT_LOSS = 0.3
_DAY_SECONDS = 86_400.0


@frozen
class Rates:
    """Daily rates in (0, 1]; types are compared case-folded."""

    by_type: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_RATES))
    other: float = DEFAULT_RATE
    edge: float = DEFAULT_EDGE_RATE

    def of(self, entity_type: str) -> float:
        return self.of_key(name_key(entity_type))

    def of_key(self, type_key: str) -> float:
        """By the folded name of a type."""
        return self.by_type.get(type_key, self.other)


def age_days(last_confirmed: datetime, now: datetime) -> float:
    """A clock that went backwards makes nothing younger than new."""
    return max(0.0, (now - last_confirmed).total_seconds() / _DAY_SECONDS)


def faded(base: float, rate: float, days: float) -> float:
    """`base × rate ^ days`, within [0, 1]."""
    return clamp(base * rate ** max(0.0, days))


def confirmed(base: float, rate: float, days: float, gain: float = CONFIRM_GAIN) -> float:
    """The new base when a fact is confirmed now: its clock begins anew."""
    return kept(faded(base, rate, days) + gain)


def restated(base: float, rate: float, days: float, weight: float | None = None) -> float:
    """The new base when a fact is stated again: the larger weight, or a little more if it is only mentioned."""
    return confirmed(base, rate, days, MENTION_GAIN) if weight is None else kept(max(faded(base, rate, days), weight))


def corrected(base: float, rate: float, days: float, loss: float = CORRECT_LOSS) -> float:
    """The base that makes a fact count `loss` less now, without starting its clock anew."""
    left = max(0.0, faded(base, rate, days) - loss)
    return kept(left / rate ** max(0.0, days))


def clamp(value: float) -> float:
    return min(1.0, max(0.0, value))


def kept(value: float) -> float:
    """A base as it is stored: with no more digits than every engine gives back, so that equals stay equal."""
    return float(f"{clamp(value):.12g}")
