"""When a fact holds. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol


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
