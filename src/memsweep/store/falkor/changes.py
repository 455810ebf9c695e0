"""A transaction on a graph, as the collector sees it."""

from __future__ import annotations

from memsweep.model.audit import AuditEvent
from memsweep.model.plan import Selection
from memsweep.store.changes import NewReceipt
from memsweep.store.falkor import purging, trash_cypher
from memsweep.store.falkor.applying import Doomed
from memsweep.store.falkor.auditing import audit
from memsweep.store.falkor.items import FalkorItems, FalkorTombstones
from memsweep.store.falkor.plans import FalkorPlans
from memsweep.store.falkor.receipts import FalkorReceipts
from memsweep.store.falkor.segments import FalkorSegmentRows
from memsweep.store.falkor.transaction import Change, Graph
from memsweep.store.falkor.vectors import VectorSet


class FalkorReads:
    """Implements `memsweep.store.changes.Reads`."""

    def __init__(self, asked: Graph | Change) -> None:
        self.items = FalkorItems(asked)
        self.plans = FalkorPlans(asked)


class FalkorChanges(FalkorReads):
    """Implements `memsweep.store.changes.Changes`, inside the caller's transaction."""

    def __init__(self, tx: Change, vectors: VectorSet | None = None) -> None:
        super().__init__(tx)
        self._tx, self._vectors = tx, vectors
        self.receipts = FalkorReceipts(tx)
        self.segments = FalkorSegmentRows(tx)
        self.tombstones = FalkorTombstones(tx)

    def audit(self, event: AuditEvent) -> None:
        audit(self._tx, event.at, event.actor, event.action, event.subject, event.counts, event.reason)

    def free(self, moved: Selection, receipt: NewReceipt, key: int) -> None:
        going = Doomed(set(moved.memories), set(moved.chunks), set(moved.entities), set(moved.relations))
        places = self._tx.ask(trash_cypher.THREADS_AND_ROOTS, keys=sorted(going.memories))
        purging.free(self._tx, going, [key], live=True)
        purging.free_leftovers(self._tx, going, places)
        purging.close(self._tx, [(key, receipt.plan_id)], receipt.created_at)
        if self._vectors is not None:
            self._vectors.announce(self._tx.meta["generation"], going.chunks)
