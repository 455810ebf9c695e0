"""What was recalled counts as seen: noted for all hits of a search at once, after it, and never in its way."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memsweep.errors import MemsweepError
from memsweep.forking import new_lock

if TYPE_CHECKING:
    from memsweep.model.search import Hit
    from memsweep.store.protocol import Store

RESOLUTION = timedelta(minutes=1)
"""A memory that was seen a moment ago is not written again: searches for the same cost nothing."""
_MOST_WAITING = 10_000


class Sightings:
    """Readings that the stores have not noted yet, by workspace. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._waiting: dict[str, dict[str, datetime]] = {}

    def note(self, store: Store, hits: Iterable[Hit], now: datetime) -> None:
        """The memories of these hits were read now."""
        passages = (hit.passage for hit in hits)
        seen = {each.memory_id: now for each in passages if not each.loose and each.last_seen_at <= now - RESOLUTION}
        if seen:
            with self._lock:
                waiting = self._waiting.setdefault(store.workspace_id, {})
                if len(waiting) < _MOST_WAITING:
                    waiting.update(seen)
        self.flush(store)

    def flush(self, store: Store) -> None:
        """Hand over what waits. What the store has no time for now goes along with the next search."""
        with self._lock:
            seen = self._waiting.pop(store.workspace_id, {})
        if seen and not self._written(store, seen):
            with self._lock:
                waiting = self._waiting.setdefault(store.workspace_id, {})
                waiting.update({memory_id: at for memory_id, at in seen.items() if memory_id not in waiting})

    def waiting(self) -> list[str]:
        """The workspaces that have not noted everything."""
        with self._lock:
            return [workspace_id for workspace_id, seen in self._waiting.items() if seen]

    def _written(self, store: Store, seen: dict[str, datetime]) -> bool:
        try:
            return store.mark_seen(seen)
        except MemsweepError:  # whatever it is, what was searched for was found; who writes next will say it
            return True
