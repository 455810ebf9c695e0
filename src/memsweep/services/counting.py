"""How much is in a workspace, now and day by day, and its memories one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memsweep.model.counts import MOST_DAYS, Counts, counted_up, day_of
from memsweep.model.frozen import replace
from memsweep.model.memory import no_stats
from memsweep.model.paging import within

if TYPE_CHECKING:
    from memsweep.model.listing import MemoryPage
    from memsweep.model.memory import Stats
    from memsweep.services.access import Access


def stats(access: Access[Any]) -> Stats:
    """What there is, or nothing where the workspace is not made yet."""
    store = access.found()
    engine = "falkor" if access.settings.store else "sqlite"
    if store is None:
        return no_stats(access.workspace_id, engine)
    back = access.quarantine.held_back(access.clock())
    return replace(store.stats(), quarantined=store.count_held_back(back)) if back.tiers else store.stats()


def count_up(access: Access[Any], days: int) -> Counts:
    """How it has grown in these days, and counts by kind."""
    within("days", days, MOST_DAYS)
    store, now = access.found(), access.clock()
    if store is None:
        return Counts()
    back = access.quarantine.held_back(now)
    quarantined = store.count_held_back(back) if back.tiers else 0
    return counted_up(store.overview.counts(day_of(now) - days + 1), now, days, quarantined)


def listed(
    access: Access[Any], filters: object, state: object, door: object, limit: int, cursor: str | None
) -> MemoryPage:
    from memsweep.memory.listing import NO_MEMORIES, list_memories, make_list_filters

    asked, store = make_list_filters(filters, door, state), access.found()
    if store is None:
        return NO_MEMORIES
    options: dict[str, Any] = {"limit": limit, "cursor": cursor, "quarantine": access.quarantine}
    return list_memories(store.overview, asked, now=access.clock(), **options)
