"""Rows that hold somebody's words beside memories. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import apsw

from memsweep.model.graph_rows import Alias
from memsweep.model.records import FIELDS, Record, records_of
from memsweep.store.file import meta_sql
from memsweep.store.file.connect import one
from memsweep.store.sqlite import context_sql, merging_sql, record_sql
from memsweep.store.sqlite.lists import as_list
from memsweep.store.stored import to_json


class SqliteRecords:
    """Implements `memsweep.store.ports.records.RecordRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def page(self, kind: str, after: int, limit: int) -> list[Record]:
        return self._rows(kind, record_sql.PAGE[kind], {"after": after, "limit": limit})

    def at(self, kind: str, keys: Collection[int]) -> dict[int, Record]:
        return {row.key: row for row in self._rows(kind, record_sql.AT[kind], {"keys": as_list(keys)})}

    def aliases(self) -> list[Alias]:
        return [Alias(*row) for row in self._db.execute(merging_sql.ALL_ALIASES)]

    def names_seen(self) -> list[str]:
        return [name for (name,) in self._db.execute(record_sql.NAMES_SEEN)]

    def description(self) -> str:
        return str(one(self._db, meta_sql.GET_META, ("description",)) or "")

    def describe(self, description: str) -> None:
        self._db.execute(meta_sql.SET_META, ("description", description))

    def write(self, kind: str, changed: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        rows, fields = list(changed), FIELDS[kind]
        keys = [(key,) for key, _ in rows]
        if kind == "segment":
            self._db.executemany(context_sql.UNINDEX_TEXT, keys)
        written = set(fields.lists) | set(fields.json)
        for key, values in rows:
            stored = [to_json(values[name]) if name in written else values[name] for name in fields.all]
            self._db.execute(record_sql.WRITE[kind], (*stored, key))
        if kind == "segment":
            self._db.executemany(context_sql.INDEX_TEXT, keys)

    def forget_names(self, names: Collection[str]) -> None:
        self._db.executemany(record_sql.FORGET_NAME, [(name,) for name in sorted(names)])

    def _rows(self, kind: str, statement: str, asked: Mapping[str, Any]) -> list[Record]:
        found: list[Any] = self._db.execute(statement, asked).fetchall()
        return records_of(kind, found, {*FIELDS[kind].lists, *FIELDS[kind].json})
