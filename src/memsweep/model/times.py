"""Times are aware UTC everywhere, ISO 8601 at the doors, microseconds since 1970 in the engines; when a fact holds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Protocol

from memsweep.errors import BadInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
CLOCK_TOLERANCE = timedelta(minutes=5)
"""How far clocks may differ. What is dated later than that was dated by a clock that was ahead."""


def parse_time(value: object, what: str, *, end_of_day: bool = False) -> datetime:
    """Read an ISO 8601 date or time. Without a zone it is UTC; a bare date is its first (or last) instant."""
    if isinstance(value, datetime):
        return in_utc(value, what)
    if not isinstance(value, str):
        raise BadInput(f"{what} must be an ISO 8601 date or time, not {type(value).__name__}.")
    text = value.strip()
    try:
        if len(text) <= 10:  # no time of day fits into that
            clock = time.max if end_of_day else time.min
            return datetime.combine(date.fromisoformat(text), clock, tzinfo=UTC)
        return in_utc(datetime.fromisoformat(text), what)
    except ValueError as error:
        raise BadInput(
            f"{what} {value[:60]!r} is not a date or time ({error}).",
            hint="Write it like 2026-03-31 or 2026-03-31T18:00:00Z.",
        ) from None


def to_micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def micros_or_none(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def moment_or_none(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def days_ago(now: datetime, days: float) -> datetime:
    """The last moment of what is at least so many days old.

    Nothing is younger than new, so at 0 days that is everything, also what a clock that was ahead has dated later.
    """
    return now - timedelta(days=days) if days > 0 else datetime.max.replace(tzinfo=UTC)


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def in_utc(moment: datetime, what: str) -> datetime:
    """The same moment in UTC, which is what a time without a zone is taken for."""
    if moment.utcoffset() is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise BadInput(f"{what} {moment.isoformat()} is outside the years 1 to 9999 in UTC.") from None


def has_expired(expires_at: datetime | None, now: datetime) -> bool:
    return expires_at is not None and expires_at <= now


# When a fact holds. Pure.


class Dated(Protocol):
    """A fact, by when it was seen last, when it begins and when it ended."""

    @property
    def last_seen(self) -> datetime: ...

    @property
    def valid_at(self) -> datetime | None: ...

    @property
    def invalid_at(self) -> datetime | None: ...


def held(fact: Dated, as_of: datetime) -> bool:
    """Return whether the fact was valid at a moment."""
    begun = fact.valid_at is None or fact.valid_at <= as_of
    return begun and (fact.invalid_at is None or fact.invalid_at > as_of)


def holds(fact: Dated, now: datetime) -> bool:
    """Return whether the fact is valid now.

    If it was seen when it had begun, it has begun: where that lies in the future, a clock that was ahead dated it.
    """
    begun = fact.valid_at is None or fact.valid_at <= max(now, fact.last_seen)
    return begun and (fact.invalid_at is None or fact.invalid_at > now)


def holding_at(as_of: datetime | None, now: datetime) -> Callable[[Dated], bool]:
    """Return a test whether facts hold now, or held at a date."""
    return lambda fact: holds(fact, now) if as_of is None else held(fact, as_of)


def last_seen(created_at: int, seen_at: int | None, *, stale: bool, verified_at: int | None) -> int:
    """When a memory was last remembered, recalled or found on disk; in microseconds.

    A file that is verified has been seen, though its memory is not written each time.
    """
    seen = created_at if seen_at is None else seen_at
    return seen if stale or verified_at is None else max(seen, verified_at)
