"""Memories as they are listed, the newest first. Pure.

The order is that in which they were remembered, which no clock can change: what is added while somebody turns the pages
comes before the first one, so no page shows a memory twice or leaves one out.
"""

from __future__ import annotations

from typing import Literal, get_args

from memsweep.model.frozen import field, frozen
from memsweep.model.memory import ShownMemory
from memsweep.model.origin import Origin
from memsweep.model.search import Filters, HeldBack, Kind

State = Literal["current", "stale", "pinned", "superseded", "quarantined", "expiring", "expired"]
"""`current` is what search can find: neither stale, superseded nor in quarantine. `expiring` has a date of expiry. What
has expired is in no listing but its own, unless it is asked for."""
STATES: tuple[State, ...] = get_args(State)
MOST_LISTED = 200
SHOWN_CHARACTERS = 400
"""How much of a text a listing has."""


@frozen
class ListFilters:
    """The filters of a listing; `back` is what is in quarantine or has expired at the moment."""

    filters: Filters = field(default_factory=Filters)
    door: str | None = None
    state: State | None = None
    back: HeldBack | None = None

    @property
    def expired_by(self) -> int | None:
        """The moment at which expired ones are told from others; None where both are listed."""
        asked_for = self.filters.include_expired and self.state not in ("expiring", "expired")
        return None if self.back is None or asked_for else self.back.expired_by

    def accept(self, origin: Origin) -> bool:
        return self.filters.accept(origin) and self.door in (None, origin.door)

    @property
    def asks_for_origin(self) -> bool:
        asked = self.filters
        return any(each is not None for each in (asked.tier, asked.client, asked.session, self.door))


def in_quarantine(back: HeldBack) -> ListFilters:
    """Return what lists memories in quarantine, those that have expired too."""
    return ListFilters(state="quarantined", back=back._replace(expired_by=None))


@frozen
class ListedMemory(ShownMemory):
    """A memory in a listing, by the beginning of its text."""

    key: int
    id: str
    text: str
    length: int
    superseded: bool
    quarantine: str = ""
    """How long search leaves it out, in words; empty if it does not."""
    expired: bool = False

    @property
    def kind(self) -> Kind:
        return "memory" if self.code is None else "code"

    @property
    def path(self) -> str | None:
        return None if self.code is None else self.code.path

    @property
    def language(self) -> str | None:
        return None if self.code is None else self.code.language


@frozen
class MemoryPage:
    """One page of a listing."""

    memories: tuple[ListedMemory, ...]
    first: int
    """How many come before this page."""
    total: int
    """As many as there were when the first page was shown."""
    next_cursor: str | None
    damaged: int = 0
    """How many of this page were left out, for they cannot be read."""
