"""A transaction on a workspace file, as the collector sees it."""

from __future__ import annotations

import apsw

from memsweep.model.audit import AuditEvent
from memsweep.model.plan import Selection
from memsweep.model.times import to_micros
from memsweep.store.changes import NewReceipt
from memsweep.store.file import meta_sql
from memsweep.store.sqlite import trash
from memsweep.store.sqlite.items import SqliteItems, SqliteTombstones
from memsweep.store.sqlite.plans import SqlitePlans
from memsweep.store.sqlite.receipts import SqliteReceipts
from memsweep.store.sqlite.segments import SqliteSegmentRows
from memsweep.store.stored import to_json


class SqliteReads:
    """Implements `memsweep.store.changes.Reads`."""

    def __init__(self, db: apsw.Connection) -> None:
        self.items = SqliteItems(db)
        self.plans = SqlitePlans(db)


class SqliteChanges(SqliteReads):
    """Implements `memsweep.store.changes.Changes`, inside the caller's transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(db)
        self._db = db
        self.receipts = SqliteReceipts(db)
        self.segments = SqliteSegmentRows(db)
        self.tombstones = SqliteTombstones(db)

    def audit(self, event: AuditEvent) -> None:
        values = (event.actor, event.action, event.subject, to_json(dict(event.counts)), event.reason)
        self._db.execute(meta_sql.ADD_AUDIT, (to_micros(event.at), *values))

    def free(self, moved: Selection, receipt: NewReceipt, key: int) -> None:
        trash.purge(self._db, receipt.created_at, receipt.created_at, receipt.id)
