"""What stays out of search until somebody releases it, or until its time is over. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta

from memsweep.model.listing import ListedMemory
from memsweep.model.memory import Memory
from memsweep.model.search import Filters, HeldBack
from memsweep.model.times import days_ago, to_micros


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Tiers whose memories are held back, and for how many days; 0: until they are released."""

    tiers: tuple[str, ...] = ()
    days: float = 30.0

    def held_back(self, now: datetime) -> HeldBack | None:
        """What is held back at a moment; nothing if nothing is."""
        if not self.tiers:
            return None
        return HeldBack(tuple(self.tiers), to_micros(days_ago(now, self.days)) if self.days else None)

    def until(self, memory: Memory | ListedMemory, now: datetime) -> str:
        """How long a memory stays in quarantine, in words; empty if it is in none."""
        if memory.origin.tier not in self.tiers or memory.released_at is not None:
            return ""
        if not self.days:
            return "until it is released"
        end = memory.created_at + timedelta(days=self.days)
        return f"until {end:%Y-%m-%d %H:%M} UTC, or until it is released" if end > now else ""


@dataclass(frozen=True, slots=True)
class FiltersInQuarantine(Filters):
    """Filters that also leave out what is held back, which nobody can ask for."""

    back: HeldBack | None = field(default=None, repr=False)

    @property
    def held_back(self) -> HeldBack | None:
        return self.back

    @property
    def may_be_loose(self) -> bool:
        return Filters(**{each.name: getattr(self, each.name) for each in fields(Filters)}).may_be_loose


def leaving_out(filters: Filters, back: HeldBack | None) -> Filters:
    if back is None:
        return filters
    return FiltersInQuarantine(**{each.name: getattr(filters, each.name) for each in fields(Filters)}, back=back)
