"""A transaction on a graph, as the collector and merges see it."""

from __future__ import annotations

from memsweep.model.audit import AuditEvent
from memsweep.store.falkor.auditing import audit
from memsweep.store.falkor.graph_rows import FalkorEntities, FalkorMentions, FalkorRelations
from memsweep.store.falkor.merge_rows import FalkorAliases, FalkorMergePlans, FalkorMoves
from memsweep.store.falkor.receipts import FalkorReceipts
from memsweep.store.falkor.transaction import Change
from memsweep.store.falkor.trash_rows import FalkorSegmentTrash, FalkorTrash


class FalkorChanges:
    """Implements `memsweep.store.changes.Changes`, inside the caller's transaction."""

    def __init__(self, tx: Change) -> None:
        self._tx = tx
        self.receipts = FalkorReceipts(tx)
        self.trash = FalkorTrash(tx)
        self.segments = FalkorSegmentTrash(tx)
        self.entities = FalkorEntities(tx)
        self.relations = FalkorRelations(tx)
        self.mentions = FalkorMentions(tx)
        self.moves = FalkorMoves(tx)
        self.aliases = FalkorAliases(tx)
        self.merge_plans = FalkorMergePlans(tx)

    def audit(self, event: AuditEvent) -> None:
        audit(self._tx, event.at, event.actor, event.action, event.subject, event.counts, event.reason)
