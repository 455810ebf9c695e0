"""The port of the collector: transactions, and a few questions outside of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

from memsweep.model.audit import AuditEvent, AuditQuery, Tombstone, Trashed
from memsweep.store.audit_rows import events
from memsweep.store.changes import Changes, WorkspaceReads
from memsweep.store.items import PLACES
from memsweep.store.rows import Find, Show, Values
from memsweep.store.things.collected import TombstoneRow
from memsweep.store.things.memories import MemoryRow


class Collector(ABC):
    """What only an engine can tell is abstract."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[WorkspaceReads]: ...

    @abstractmethod
    def changing(self, seconds: float | None = None) -> AbstractContextManager[Changes]:
        """A transaction: read, decide, write; refused as a whole if somebody else wrote meanwhile.

        It is given up after so many `seconds`.
        """

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

    @abstractmethod
    def trashed(self, limit: int, offset: int, receipt_id: str | None = None) -> tuple[list[Trashed], int]:
        """A page of the trash, or of what one receipt has there, and how much there is."""

    @abstractmethod
    def wipe(self, done: str, *, freed: bool = True) -> list[str]:
        """Remove what a transaction freed (if it did) from wherever else it is; an error says first what was `done`.

        Answers where something of it may still be, in words.
        """

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
