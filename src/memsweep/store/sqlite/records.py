"""The records of a workspace file about itself, beside those of every engine. Inside the caller's transaction."""

from __future__ import annotations

import apsw

from memsweep.store.file import schema
from memsweep.store.file.connect import one
from memsweep.store.records import Records
from memsweep.store.sqlite.rows import SqliteRows


class SqliteRecords(Records):
    """Beside what every engine has."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def description(self) -> str:
        return str(one(self._db, schema.GET_META, ("description",)) or "")

    def describe(self, description: str) -> None:
        self._db.execute(schema.SET_META, ("description", description))
