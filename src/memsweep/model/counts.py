"""Count the contents of a workspace, by day and by origin. Pure.

What is counted is live now, by the day on which it was made: what was collected since is not part of the past.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import NamedTuple

from memsweep.model.frozen import field, frozen
from memsweep.model.origin import UNKNOWN, Origin

DAY_MICROS = 86_400_000_000
MOST_DAYS = 3660
MOST_TAGS = 50


class MadeOn(NamedTuple):
    """The memories of a kind that were made on a day, counted from 1970."""

    day: int
    is_code: bool
    memories: int


@frozen
class RawCounts:
    """The counts of an engine at one moment; what came before `first_day` counts as of the day before it."""

    made: tuple[MadeOn, ...]
    sources: Mapping[str, int]
    tags: Mapping[str, int]
    """The most frequent ones."""
    origins: tuple[tuple[Origin, int], ...]
    languages: Mapping[str, int]
    stale: int
    pinned: int
    expiring: int
    superseded: int


class DayCount(NamedTuple):
    """The memories made on a day (UTC), and the totals at its end."""

    day: date
    notes: int
    files: int
    total_notes: int
    total_files: int


@frozen
class Counts:
    """Growth day by day, the oldest first, and how many memories there are of each source, tag, tier, client and door;
    files by language; how many are in each state. Mappings have the most frequent first."""

    days: tuple[DayCount, ...] = ()
    sources: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)
    clients: Mapping[str, int] = field(default_factory=dict)
    doors: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, int] = field(default_factory=dict)


def day_of(moment: datetime) -> int:
    return (moment.date() - date(1970, 1, 1)).days


def counted_up(raw: RawCounts, now: datetime, days: int, quarantined: int) -> Counts:
    return Counts(
        growth(raw.made, now, days),
        ranked(raw.sources.items()),
        ranked(raw.tags.items()),
        ranked((origin.tier, count) for origin, count in raw.origins),
        ranked((origin.client, count) for origin, count in raw.origins if origin.client),
        ranked((origin.door, count) for origin, count in raw.origins if origin != UNKNOWN),
        ranked(raw.languages.items()),
        {
            "stale": raw.stale,
            "pinned": raw.pinned,
            "superseded": raw.superseded,
            "quarantined": quarantined,
            "expiring": raw.expiring,
        },
    )


def growth(made: Iterable[MadeOn], now: datetime, days: int) -> tuple[DayCount, ...]:
    """One entry for each of the last days. What a clock that was ahead has dated later counts as of today."""
    today = day_of(now)
    first = today - days + 1
    added: Counter[tuple[int, bool]] = Counter()
    for day, is_code, count in made:
        added[min(max(day, first - 1), today), is_code] += count
    notes, files = added[first - 1, False], added[first - 1, True]
    found = []
    for day in range(first, today + 1):
        new_notes, new_files = added[day, False], added[day, True]
        notes, files = notes + new_notes, files + new_files
        found.append(DayCount(date(1970, 1, 1) + timedelta(days=day), new_notes, new_files, notes, files))
    return tuple(found)


def ranked(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Added up by name, the most frequent first."""
    added: Counter[str] = Counter()
    for name, count in counts:
        added[name] += count
    return dict(sorted(added.items(), key=lambda item: (-item[1], item[0])))
