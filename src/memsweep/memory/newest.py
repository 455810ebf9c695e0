"""The newest memories, whatever was indexed since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.model.frozen import replace
from memsweep.model.search import Filters, Passage

if TYPE_CHECKING:
    from memsweep.store.protocol import Store

_FIRST, _MOST = 64, 4096  # chunks to look through


def newest_memories(store: Store, limit: int, filters: Filters = Filters()) -> tuple[Passage, ...]:
    """How each begins, the newest first; indexed files are not among them."""
    filters, depth = replace(filters, kind="memory"), _FIRST
    while True:
        keys = [item.key for item in store.newest(filters, depth)]
        passages = store.passages(keys)
        found: dict[str, Passage] = {}
        for passage in (passages[key] for key in keys if key in passages):
            found[passage.memory_id] = passage  # the last of its pieces that comes is its first
        if len(found) >= limit or len(keys) < depth or depth >= _MOST:
            return tuple(found.values())[:limit]
        depth *= 4
