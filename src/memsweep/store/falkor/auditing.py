"""The audit log: a node for each event, written with what it tells of."""

from __future__ import annotations

from memsweep.model.audit import AuditEvent
from memsweep.model.times import to_micros
from memsweep.store.audit_rows import counts_of
from memsweep.store.falkor import gc_cypher
from memsweep.store.falkor.transaction import Transaction


def add_event(tx: Transaction, event: AuditEvent) -> None:
    said = {"at": to_micros(event.at), "actor": event.actor, "action": event.action, "subject": event.subject}
    rows = [{**said, "reason": event.reason, "counts": counts} for counts in counts_of(event)]
    tx.do(gc_cypher.ADD_AUDIT, [{"key": tx.new_key(), **row} for row in rows])
