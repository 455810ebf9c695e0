"""What a rule is handed beside the survey."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from memsweep.model.times import to_micros


@dataclass(frozen=True, slots=True)
class Options:
    """`now` is handed in; `ttl_days`: not seen for so long is expired; `grace_days` protects what is younger."""

    now: datetime
    ttl_days: float | None = None
    grace_days: float = 0.0

    def micros_ago(self, days: float) -> int:
        return to_micros(self.now - timedelta(days=days))
