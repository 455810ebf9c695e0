"""One transaction on a workspace, as the collector sees it: read rows, decide, write one set of rows.

Every engine gives the same: what is read is the state at one revision, writes are gathered or done inside a
transaction that is whole or nothing, and **nothing reads what the same transaction has written**. So whoever
uses it reads first, decides in plain Python, and writes last. An engine knows no strategy, no action and no
reason; it answers neutral questions about rows and moves sets of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from memsweep.model.audit import AuditEvent
from memsweep.model.plan import Totals
from memsweep.model.receipts import Held, StoredReceipt
from memsweep.store.ports.graph import EntityRows, MentionRows, RelationRows
from memsweep.store.ports.items import ItemReads, ItemRows
from memsweep.store.ports.memory_acts import MemoryActRows
from memsweep.store.ports.merges import AliasRows, MoveRows
from memsweep.store.ports.origins import OriginRows
from memsweep.store.ports.plans import PlanReads, PlanRows
from memsweep.store.ports.records import RecordReads, RecordRows
from memsweep.store.ports.revisions import RevisionReads, RevisionRows, TextReads, TextRows
from memsweep.store.ports.tombstones import TombstoneRows
from memsweep.store.ports.trash import TrashRows
from memsweep.store.ports.windows import SegmentRows


@dataclass(frozen=True, slots=True)
class NewReceipt:
    """What an operation has done, before it has a key."""

    id: str
    action: str
    strategy: str
    actor: str
    created_at: datetime
    plan_id: str | None = None
    totals: Totals = field(default_factory=Totals)
    skipped: Sequence[tuple[str, str]] = ()
    undone_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    key: int
    id: str
    plan_id: str | None
    undone_at: datetime | None
    purged_at: datetime | None


class ReceiptReads(Protocol):
    def get(self, receipt_id: str) -> ReceiptRow | None: ...

    def at(self, keys: Collection[int]) -> dict[int, ReceiptRow]: ...

    def page(self, before: int | None, limit: int, *, holding: bool) -> list[StoredReceipt]:
        """The newest first, those made before a key, but for recoveries; or those that hold something in the trash."""

    def held(self, keys: Collection[int]) -> dict[int, Held]:
        """What each of these holds, if it holds something."""


class ReceiptRows(ReceiptReads, Protocol):
    def not_purged(self, before: datetime) -> list[ReceiptRow]:
        """Those made up to a moment whose trash was not freed yet, the oldest first."""

    def add(self, receipt: NewReceipt) -> int:
        """The key of a new one."""

    def set_undone(self, key: int, at: datetime) -> None: ...

    def set_purged(self, keys: Collection[int], at: datetime) -> None: ...


class Reads(Protocol):
    """Questions that change nothing."""

    @property
    def items(self) -> ItemReads: ...

    @property
    def plans(self) -> PlanReads: ...


class WorkspaceReads(Reads, Protocol):
    """The same, and what was before."""

    @property
    def receipts(self) -> ReceiptReads: ...

    @property
    def revisions(self) -> RevisionReads: ...

    @property
    def texts(self) -> TextReads: ...

    @property
    def records(self) -> RecordReads: ...


class Changes(Protocol):
    """A transaction under way. Leaving it without an error keeps all of it, with one nothing."""

    @property
    def items(self) -> ItemRows: ...

    @property
    def plans(self) -> PlanRows: ...

    @property
    def receipts(self) -> ReceiptRows: ...

    @property
    def trash(self) -> TrashRows: ...

    @property
    def segments(self) -> SegmentRows: ...

    @property
    def entities(self) -> EntityRows: ...

    @property
    def relations(self) -> RelationRows: ...

    @property
    def mentions(self) -> MentionRows: ...

    @property
    def origins(self) -> OriginRows: ...

    @property
    def acts(self) -> MemoryActRows: ...

    @property
    def moves(self) -> MoveRows: ...

    @property
    def aliases(self) -> AliasRows: ...

    @property
    def revisions(self) -> RevisionRows: ...

    @property
    def texts(self) -> TextRows: ...

    @property
    def records(self) -> RecordRows: ...

    @property
    def tombstones(self) -> TombstoneRows: ...

    def audit(self, event: AuditEvent) -> None: ...
