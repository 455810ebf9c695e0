"""A transaction on a workspace file, as the collector sees it."""

from __future__ import annotations

import apsw

from memsweep.model.audit import AuditEvent
from memsweep.model.times import to_micros
from memsweep.store.file import meta_sql
from memsweep.store.sqlite.receipts import SqliteReceipts
from memsweep.store.stored import to_json


class SqliteChanges:
    """Implements `memsweep.store.changes.Changes`, inside the caller's transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self.receipts = SqliteReceipts(db)

    def audit(self, event: AuditEvent) -> None:
        values = (event.actor, event.action, event.subject, to_json(dict(event.counts)), event.reason)
        self._db.execute(meta_sql.ADD_AUDIT, (to_micros(event.at), *values))
