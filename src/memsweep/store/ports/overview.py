"""The port of lists and counts of a workspace."""

from __future__ import annotations

from typing import Protocol

from memsweep.model.counts import RawCounts
from memsweep.model.listing import ListedMemory, ListFilters


class Overview(Protocol):
    def memories(self, asked: ListFilters, before: int | None, limit: int) -> dict[int, ListedMemory | None]:
        """By key, the newest first, of those below a key; None for one that is damaged."""

    def count(self, asked: ListFilters) -> int:
        """Count the memories that pass."""

    def counts(self, first_day: int) -> RawCounts:
        """Of the live memories, at one moment; by day from one on, which is counted from 1970."""
