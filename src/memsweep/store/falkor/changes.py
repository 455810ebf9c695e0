"""A transaction on a graph, as the collector sees it."""

from __future__ import annotations

from memsweep.model.audit import AuditEvent
from memsweep.store.falkor.auditing import audit
from memsweep.store.falkor.receipts import FalkorReceipts
from memsweep.store.falkor.transaction import Change


class FalkorChanges:
    """Implements `memsweep.store.changes.Changes`, inside the caller's transaction."""

    def __init__(self, tx: Change) -> None:
        self._tx = tx
        self.receipts = FalkorReceipts(tx)

    def audit(self, event: AuditEvent) -> None:
        audit(self._tx, event.at, event.actor, event.action, event.subject, event.counts, event.reason)
