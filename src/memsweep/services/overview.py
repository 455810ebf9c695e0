"""What is in a workspace, listed and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memsweep.model.counts import MOST_DAYS, Counts, counted_up, day_of
from memsweep.model.paging import within
from memsweep.remember.listing import NO_MEMORIES, list_memories, make_list_filters

if TYPE_CHECKING:
    from memsweep.model.listing import MemoryPage
    from memsweep.services.access import Access


def listed(
    access: Access[Any], filters: object, state: object, door: object, limit: int, cursor: str | None
) -> MemoryPage:
    asked, store = make_list_filters(filters, door, state), access.found()
    if store is None:
        return NO_MEMORIES
    options: dict[str, Any] = {"limit": limit, "cursor": cursor, "quarantine": access.quarantine}
    return list_memories(store.overview, asked, now=access.clock(), **options)


def counted(access: Access[Any], days: int) -> Counts:
    within("days", days, MOST_DAYS)
    store, now = access.found(), access.clock()
    if store is None:
        return Counts()
    back = access.quarantine.held_back(now)
    quarantined = 0 if back is None else store.count_held_back(back)
    return counted_up(store.overview.counts(day_of(now) - days + 1), now, days, quarantined)
