"""Cron expressions: five fields, as crontab(5) has them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from memsweep.errors import BadSetting

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_NAMES = {
    name: number
    for names in ("sun mon tue wed thu fri sat", " jan feb mar apr may jun jul aug sep oct nov dec")
    for number, name in enumerate(names.split(" "))
    if name
}
_SHORTHANDS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}
_FARTHEST = timedelta(days=366 * 8)  # a 29 February is at most eight years away


@dataclass(frozen=True, slots=True)
class Cron:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Day and weekday both restricted: one of them is enough."""

    def next_after(self, moment: datetime) -> datetime:
        """The first minute after a moment that matches."""
        at = (moment + timedelta(minutes=1)).replace(second=0, microsecond=0)
        while at <= moment + _FARTHEST:
            if at.month not in self.months or not self._is_day(at):
                at = (at + timedelta(days=1)).replace(hour=0, minute=0)
            elif at.hour not in self.hours:
                at = (at + timedelta(hours=1)).replace(minute=0)
            elif at.minute not in self.minutes:
                at += timedelta(minutes=1)
            else:
                return at
        raise BadSetting("the cron expression of the schedule never matches.")

    def _is_day(self, at: datetime) -> bool:
        day, weekday = at.day in self.days, at.isoweekday() % 7 in self.weekdays
        return day or weekday if self.either_day else day and weekday


def parse_cron(text: str) -> Cron:
    fields = _SHORTHANDS.get(text.strip().lower(), text).split()
    if len(fields) != len(_FIELDS):
        raise BadSetting(f"the cron expression {text!r:.60} has {len(fields)} fields.", hint="It needs five: 0 2 * * *")
    sets = [_field(value, *rule, whole=text) for value, rule in zip(fields, _FIELDS, strict=True)]
    weekdays = frozenset(day % 7 for day in sets[4])
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    return Cron(sets[0], sets[1], sets[2], sets[3], weekdays, either)


def _field(text: str, name: str, lowest: int, highest: int, *, whole: str) -> frozenset[int]:
    numbers: set[int] = set()
    for part in text.lower().split(","):
        span, _, step = part.partition("/")
        first, _, last = ("", "", "") if span == "*" else span.partition("-")
        try:
            start = lowest if span == "*" else _number(first)
            end = highest if span == "*" or (step and not last) else _number(last or first)
            stride = int(step) if step else 1
        except (KeyError, ValueError):
            raise _bad(part, name, whole) from None
        if not lowest <= start <= end <= highest or stride < 1:
            raise _bad(part, name, whole)
        numbers.update(range(start, end + 1, stride))
    return frozenset(numbers)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NAMES[text]


def _bad(part: str, name: str, whole: str) -> BadSetting:
    return BadSetting(f"{part!r:.40} is not a valid {name} in the cron expression {whole!r:.60}.")
