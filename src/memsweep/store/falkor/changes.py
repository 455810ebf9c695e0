"""A transaction on a graph, as the collector and merges see it."""

from __future__ import annotations

from memsweep.model.audit import AuditEvent
from memsweep.store.falkor.auditing import add_event
from memsweep.store.falkor.contributions import FalkorOrigins
from memsweep.store.falkor.graph_rows import FalkorEntities, FalkorMentions, FalkorRelations
from memsweep.store.falkor.items import FalkorItems, FalkorTombstones
from memsweep.store.falkor.memory_acts import FalkorMemoryActs
from memsweep.store.falkor.merge_rows import FalkorAliases, FalkorMoves
from memsweep.store.falkor.plans import FalkorPlans
from memsweep.store.falkor.receipts import FalkorReceipts
from memsweep.store.falkor.records import FalkorRecords
from memsweep.store.falkor.revisions import FalkorRevisions, FalkorTexts
from memsweep.store.falkor.segments import FalkorSegmentRows
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.trash_rows import FalkorTrash


class FalkorReads:
    """Implements `memsweep.store.changes.Reads`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        self.items = FalkorItems(asked)
        self.plans = FalkorPlans(asked)
        self.revisions = FalkorRevisions(asked)
        self.texts = FalkorTexts(asked)
        self.records = FalkorRecords(asked)
        self.receipts = FalkorReceipts(asked)


class FalkorChanges(FalkorReads):
    """Implements `memsweep.store.changes.Changes`, inside the caller's transaction."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__(tx)
        self._tx = tx
        self.trash = FalkorTrash(tx)
        self.segments = FalkorSegmentRows(tx)
        self.entities = FalkorEntities(tx)
        self.relations = FalkorRelations(tx)
        self.mentions = FalkorMentions(tx)
        self.origins = FalkorOrigins(tx)
        self.acts = FalkorMemoryActs(tx)
        self.moves = FalkorMoves(tx)
        self.aliases = FalkorAliases(tx)
        self.tombstones = FalkorTombstones(tx)

    def audit(self, event: AuditEvent) -> None:
        add_event(self._tx, event)
