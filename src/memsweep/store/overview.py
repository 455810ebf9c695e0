"""Lists and counts of what is in a workspace: an engine lists, by queries of its own; most is counted over its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from memsweep.model.counts import MadeOn, RawCounts, ranked
from memsweep.model.listing import ListedMemory, ListFilters
from memsweep.model.origin import UNKNOWN, stored_origin
from memsweep.store.rows import Find, RowReads, Tally
from memsweep.store.things.memories import OriginRow
from memsweep.store.views import COUNTED, COUNTED_FILES


class Overview(Protocol):
    def memories(self, asked: ListFilters, before: int | None, limit: int) -> dict[int, ListedMemory | None]:
        """By key, the newest first, of those below a key; None for one that is damaged."""

    def count(self, asked: ListFilters) -> int:
        """Count the memories that pass."""

    def counts(self, first_day: int) -> RawCounts:
        """Of the live memories, at one moment; by day from one on, which is counted from 1970."""


def raw_counts(rows: RowReads, made: Iterable[MadeOn], tags: Mapping[str, int], superseded: int) -> RawCounts:
    """Add what an engine counts by days, tags and links to what it counts by columns."""
    files = Tally(COUNTED_FILES, ("language",), (), (("path", "known", None), ("stale", "=", False)))
    sources, origins, states, expiring, languages, known = rows.ask(
        Tally(COUNTED, ("source",)),
        Tally(COUNTED, ("origin",)),
        Tally(COUNTED, ("stale", "pinned")),
        Tally(COUNTED, ("stale",), (), (("expires_at", "known", None),)),
        files,
        Find(OriginRow),
    )
    origin_of = {row.key: stored_origin(*row[:-1]) for row in known}
    return RawCounts(
        made=tuple(made),
        sources=dict(map(tuple, sources)),
        tags=tags,
        origins=tuple((origin_of.get(key, UNKNOWN), count) for key, count in origins),
        languages=ranked(map(tuple, languages)),
        stale=sum(count for stale, _, count in states if stale),
        pinned=sum(count for _, pinned, count in states if pinned),
        expiring=sum(count for _, count in expiring),
        superseded=superseded,
    )
