"""What a rule is handed beside the survey."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memsweep.model.times import to_micros

_MICROS_A_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """`now` is handed in; `ttl_days`: not seen for so long is expired; `grace_days` protects what is younger."""

    now: datetime
    ttl_days: float | None = None
    grace_days: float = 0.0

    def micros_ago(self, days: float) -> int:
        """A moment as the rows have it; before the year 1, if it must be."""
        return to_micros(self.now) - round(days * _MICROS_A_DAY)
