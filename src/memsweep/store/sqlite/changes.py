"""A transaction on a workspace file, as the collector and merges see it."""

from __future__ import annotations

import apsw

from memsweep.model.audit import AuditEvent
from memsweep.store.file.meta import add_event
from memsweep.store.sqlite.contributions import SqliteOrigins
from memsweep.store.sqlite.graph_rows import SqliteEntities, SqliteMentions, SqliteRelations
from memsweep.store.sqlite.items import SqliteItems, SqliteTombstones
from memsweep.store.sqlite.memory_acts import SqliteMemoryActs
from memsweep.store.sqlite.merge_rows import SqliteAliases, SqliteMoves
from memsweep.store.sqlite.plans import SqlitePlans
from memsweep.store.sqlite.receipts import SqliteReceipts
from memsweep.store.sqlite.records import SqliteRecords
from memsweep.store.sqlite.revisions import SqliteRevisions, SqliteTexts
from memsweep.store.sqlite.segments import SqliteSegmentRows
from memsweep.store.sqlite.trash_rows import SqliteTrash


class SqliteReads:
    """Implements `memsweep.store.changes.Reads`."""

    def __init__(self, db: apsw.Connection) -> None:
        self.items = SqliteItems(db)
        self.plans = SqlitePlans(db)
        self.revisions = SqliteRevisions(db)
        self.texts = SqliteTexts(db)
        self.records = SqliteRecords(db)
        self.receipts = SqliteReceipts(db)


class SqliteChanges(SqliteReads):
    """Implements `memsweep.store.changes.Changes`, inside the caller's transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(db)
        self._db = db
        self.trash = SqliteTrash(db)
        self.segments = SqliteSegmentRows(db)
        self.entities = SqliteEntities(db)
        self.relations = SqliteRelations(db)
        self.mentions = SqliteMentions(db)
        self.origins = SqliteOrigins(db)
        self.acts = SqliteMemoryActs(db)
        self.moves = SqliteMoves(db)
        self.aliases = SqliteAliases(db)
        self.tombstones = SqliteTombstones(db)

    def audit(self, event: AuditEvent) -> None:
        add_event(self._db, event)
