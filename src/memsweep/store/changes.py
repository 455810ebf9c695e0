"""One transaction on a workspace, as the collector sees it: read rows, decide, write one set of rows.

Every engine gives the same: what is read is the state at one revision, writes are gathered or done inside a
transaction that is whole or nothing, and **nothing reads what the same transaction has written**. So whoever
uses it reads first, decides in plain Python, and writes last. An engine knows no strategy, no action and no
reason; it answers neutral questions about rows and moves sets of them.
"""

from __future__ import annotations

from typing import Protocol

from memsweep.model.audit import AuditEvent
from memsweep.store.ports.graph import EntityRows, MentionRows, RelationRows
from memsweep.store.ports.items import ItemReads, ItemRows
from memsweep.store.ports.memory_acts import MemoryActRows
from memsweep.store.ports.merges import AliasRows, MoveRows
from memsweep.store.ports.origins import OriginRows
from memsweep.store.ports.plans import PlanReads, PlanRows
from memsweep.store.ports.receipts import ReceiptReads, ReceiptRows
from memsweep.store.ports.records import RecordReads, RecordRows
from memsweep.store.ports.revisions import RevisionReads, RevisionRows, TextReads, TextRows
from memsweep.store.ports.segments import SegmentRows
from memsweep.store.ports.tombstones import TombstoneRows
from memsweep.store.ports.trash import TrashRows


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
