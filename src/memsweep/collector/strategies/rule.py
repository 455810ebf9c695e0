"""The options of a rule, beside the survey."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from memsweep.model.contributed import OriginFilter
from memsweep.model.decay import Rates, faded
from memsweep.model.times import to_micros

_MICROS_A_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Fading:
    """When a fact has faded away: how fast it does, below which value, and after how many days unseen at least."""

    rates: Rates = field(default_factory=Rates)
    node_threshold: float = 0.1
    edge_threshold: float = 0.05
    include_orphans: bool = True
    max_age_days: float = 30.0


@dataclass(frozen=True, slots=True)
class Options:
    """`now` is handed in; `ttl_days`: not seen for so long is expired; `grace_days` protects what is younger."""

    now: datetime
    ttl_days: float | None = None
    grace_days: float = 0.0
    fading: Fading = field(default_factory=Fading)
    wanted: OriginFilter | None = None
    """Whose things are taken back, if that was asked for."""

    def micros_ago(self, days: float) -> int:
        """A moment as the rows have it; before the year 1, if it must be."""
        return to_micros(self.now) - round(days * _MICROS_A_DAY)

    def days_since(self, micros: int) -> float:
        return max(0.0, (to_micros(self.now) - micros) / _MICROS_A_DAY)

    def fader(self, rate: float) -> Callable[[float, int], float]:
        """Return a fast `faded` of one rate: the present value by the stored one and when it was confirmed."""
        now = to_micros(self.now)

        def left(base: float, last_seen: int) -> float:
            return base * rate ** ((now - last_seen) / _MICROS_A_DAY) if last_seen < now else base

        return left

    def has_faded(self, confidence: float, type_key: str, last_seen: int) -> bool:
        """Return whether an entity counts less now than the threshold."""
        left = faded(confidence, self.fading.rates.of_key(type_key), self.days_since(last_seen))
        return left < self.fading.node_threshold
