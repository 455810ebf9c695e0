"""Questions about a workspace outside of a transaction: once, over the rows of any engine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memsweep.model.audit import AuditEvent, AuditQuery, Tombstone, Trashed
from memsweep.store.audit_rows import events
from memsweep.store.items import PLACES
from memsweep.store.rows import Find, Show, Values
from memsweep.store.things.collected import TombstoneRow
from memsweep.store.things.memories import MemoryRow
from memsweep.store.trash import trashed

if TYPE_CHECKING:
    from memsweep.store.protocol import Store


class Collector:
    """Questions of the collector, each one moment, beside its transactions."""

    def __init__(self, store: Store) -> None:
        self.reading, self.changing, self.wipe = store.reading, store.changing, store.wipe
        self.let_go_before: datetime | None = None
        """Nothing that is older is left to be let go."""

    def code_paths(self) -> list[tuple[int, str, str]]:
        """Return every live code memory with its root and its path."""
        with self.reading() as reads:
            (found,) = reads.rows.ask(Show(PLACES, (("path", "known", None),)))
        return [(row["key"], row["root"], row["path"]) for row in found]

    def memory_keys(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the keys of those that are live."""
        with self.reading() as reads:
            (found,) = reads.rows.ask(Values(MemoryRow, ("id", "key"), (("id", "in", ids),)))
        return dict(map(tuple, found))

    def trashed(self, limit: int, offset: int, receipt_id: str | None = None) -> tuple[list[Trashed], int]:
        """Return a page of the trash, or of what one receipt has there, and how much there is."""
        with self.reading() as reads:
            return trashed(reads.rows, reads.items, limit, offset, receipt_id)

    def audit(self, limit: int, asked: AuditQuery) -> list[tuple[int, AuditEvent]]:
        """Return the newest events first, each with its key."""
        with self.reading() as reads:
            return events(reads.rows, limit, asked)

    def tombstones(self) -> list[Tombstone]:
        """Return them, the newest first, those of one moment in the order of their memories."""
        with self.reading() as reads:
            (found,) = reads.rows.ask(Find(TombstoneRow, order=()))
        found.sort(key=lambda row: row.memory)
        return [
            Tombstone(row.memory, row.at, row.reason) for row in sorted(found, key=lambda row: row.at, reverse=True)
        ]
