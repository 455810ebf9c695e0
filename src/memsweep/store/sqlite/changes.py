"""A transaction on a workspace file, as the collector and merges see it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import apsw

from memsweep.model.audit import AuditEvent
from memsweep.model.origin import Origin
from memsweep.model.times import to_micros
from memsweep.store.changes import Changes, WorkspaceReads
from memsweep.store.file.meta import add_event
from memsweep.store.sqlite import trash_sql
from memsweep.store.sqlite.memory_acts import SqliteMemoryActs
from memsweep.store.sqlite.origins import origin_key
from memsweep.store.sqlite.records import SqliteRecords
from memsweep.store.sqlite.revisions import SqliteRevisions, SqliteTexts
from memsweep.store.sqlite.rows import SqliteRows, as_list
from memsweep.store.sqlite.surveying import SqliteItems
from memsweep.store.trash import Clash, Clashes, SameText, Trash


class SqliteReads(WorkspaceReads):
    """The rows of a file at one moment."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self.items = SqliteItems(db)
        self.texts = SqliteTexts(db)
        self.records = SqliteRecords(db)


class SqliteChanges(Changes):
    """Inside the caller's transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db
        self.items = SqliteItems(db)
        self.texts = SqliteTexts(db)
        self.records = SqliteRecords(db)
        self.trash = SqliteTrash(db)
        self.acts = SqliteMemoryActs(db)
        self.revisions = SqliteRevisions(db)

    def let_go(self, before: datetime, most: int) -> None:
        for statement in trash_sql.LET_GO:
            self._db.execute(statement, {"before": to_micros(before), "most": most})

    def origin_key(self, origin: Origin) -> int | None:
        return origin_key(self._db, origin)

    def audit(self, event: AuditEvent) -> None:
        add_event(self._db, event)


class SqliteTrash(Trash):
    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def clashes(self, memories: Collection[int]) -> Clashes:
        if not memories:
            return Clashes([], [])
        asked = (as_list(memories),)
        files: list[Any] = self._db.execute(trash_sql.CLASHING_FILES, asked).fetchall()
        texts: list[Any] = self._db.execute(trash_sql.SAME_TEXTS, asked).fetchall()
        return Clashes([Clash(*row) for row in files], [SameText(*row) for row in texts])

    def chunks_with(self, memories: Collection[int]) -> list[int]:
        found: list[Any] = self._db.execute(trash_sql.CHUNKS_WITH, (as_list(memories),)).fetchall() if memories else []
        return [key for (key,) in found]

    def hand_over(self, namesakes: Mapping[int, int]) -> None:
        for entity, namesake in sorted(namesakes.items()):
            for statement in trash_sql.HAND_OVER:
                self._db.execute(statement, {"entity": entity, "namesake": namesake})

    def free_places(self, memories: Collection[int]) -> None:
        for statement in trash_sql.FREE_PLACES if memories else ():
            self._db.execute(statement)
