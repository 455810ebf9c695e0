"""A transaction on a graph, as the collector and merges see it."""

from __future__ import annotations

from datetime import datetime

from memsweep.model.audit import AuditEvent
from memsweep.model.times import to_micros
from memsweep.store.changes import Changes, WorkspaceReads
from memsweep.store.falkor import trash_cypher
from memsweep.store.falkor.auditing import add_event
from memsweep.store.falkor.items import FalkorItems
from memsweep.store.falkor.memory_acts import FalkorMemoryActs
from memsweep.store.falkor.records import FalkorRecords
from memsweep.store.falkor.revisions import FalkorTexts
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.segments import FalkorSegmentRows
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.trash_rows import FalkorTrash


class FalkorReads(WorkspaceReads):
    """What is there at one moment."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        super().__init__(FalkorRows(asked))
        self.items = FalkorItems(asked)
        self.texts = FalkorTexts(asked)
        self.records = FalkorRecords(asked)


class FalkorChanges(Changes):
    """Inside the caller's transaction."""

    texts: FalkorTexts
    trash: FalkorTrash

    def __init__(self, tx: Transaction) -> None:
        super().__init__(FalkorRows(tx))
        self._tx = tx
        self.items = FalkorItems(tx)
        self.texts = FalkorTexts(tx)
        self.records = FalkorRecords(tx)
        self.trash = FalkorTrash(tx)
        self.segments = FalkorSegmentRows(tx)
        self.acts = FalkorMemoryActs(tx)

    def let_go(self, before: datetime, most: int) -> None:
        for step in trash_cypher.LET_GO:
            self._tx.do(step, [{"before": to_micros(before), "most": most}])

    def audit(self, event: AuditEvent) -> None:
        add_event(self._tx, event)
