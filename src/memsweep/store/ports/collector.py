"""The port of the collector."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from memsweep.model.audit import AuditEvent, AuditQuery, Tombstone, Trashed
from memsweep.store.changes import Changes, WorkspaceReads


class Collector(Protocol):
    """Transactions, and a few questions outside of one."""

    def reading(self) -> AbstractContextManager[WorkspaceReads]: ...

    def changing(self, seconds: float | None = None) -> AbstractContextManager[Changes]:
        """A transaction: read, decide, write; refused as a whole if somebody else wrote meanwhile.

        It is given up after so many `seconds`.
        """

    def code_paths(self) -> list[tuple[int, str, str]]:
        """Every live code memory with its root and its path."""

    def memory_keys(self, ids: Sequence[str]) -> dict[str, int]:
        """The keys of those that are live."""

    def trashed(self, limit: int, offset: int, receipt_id: str | None = None) -> tuple[list[Trashed], int]:
        """A page of the trash, or of what one receipt has there, and how much there is."""

    def wipe(self, done: str, *, freed: bool = True) -> list[str]:
        """Remove what a transaction freed (if it did) from wherever else it is; an error says first what was `done`.

        Answers where something of it may still be, in words.
        """

    def audit(self, limit: int, asked: AuditQuery) -> list[tuple[int, AuditEvent]]:
        """The newest events first, each with its key."""

    def tombstones(self) -> list[Tombstone]: ...
