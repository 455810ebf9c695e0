"""The memories of a workspace, listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
