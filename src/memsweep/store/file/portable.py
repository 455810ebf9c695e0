"""A workspace as rows, by table: the form in which another engine hands it over and takes it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

from memsweep.forking import stores
from memsweep.store.drafts import remove
from memsweep.store.file import health, rows_sql, schema
from memsweep.store.file.connect import connect, connect_new, immediate, make_file, one
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS

Row = dict[str, Any]
Rows = dict[str, list[Row]]
DERIVED = frozenset({"meta", "memory_tag", "code_file", "segment_link"})
"""Tables whose rows come with those of another one, so nobody counts them."""


class PortableFile:
    """A workspace file that is filled page by page, each with a mark how far it is; it can be continued."""

    def __init__(self, path: Path) -> None:
        make_file(path)
        self.path = path
        with contextlib.ExitStack() as inside:
            inside.enter_context(stores)
            try:
                self.db = self._open()
            except (apsw.NotADBError, apsw.CorruptError):
                remove(path)  # the machine went down: what is left is no use
                make_file(path)
                self.db = self._open()
            self._inside = inside.pop_all()

    def marks(self) -> dict[str, Any]:
        return dict(self.db.execute(rows_sql.GET_MARKS))

    def append(self, rows: Iterable[tuple[str, Mapping[str, Any]]], **marks: Any) -> None:
        with immediate(self.db):
            for table, row in rows:
                self.db.execute(rows_sql.insert(table, row), dict(row))
            self.db.executemany(rows_sql.SET_MARK, marks.items())

    def clear(self) -> None:
        """Begin anew."""
        self.db.close()
        remove(self.path)
        make_file(self.path)
        self.db = self._open()

    def finish(self) -> None:
        """All rows are there: now the full text of them. The marks go when the copy is made."""
        if not self.marks().get("finished"):
            with immediate(self.db):
                for index in rows_sql.UNIQUE_INDEXES:  # rows that are there twice are the doctor's
                    with contextlib.suppress(apsw.ConstraintError):
                        self.db.execute(_definition(index))
                for statement in rows_sql.REBUILD_WORDS:
                    self.db.execute(statement)
                self.db.execute(rows_sql.SET_MARK, ("finished", 1))

    def unmark(self) -> apsw.Connection:
        self.db.execute(rows_sql.DROP_MARKS)
        return self.db

    def close(self) -> None:
        self.db.close()
        self._inside.close()

    def _open(self) -> apsw.Connection:
        if self.path.stat().st_size == 0:
            return connect_new(self.path, _make_marks)
        return connect(self.path, WORKSPACE_MIGRATIONS, _make_marks)


def _make_marks(db: apsw.Connection) -> None:
    db.execute(rows_sql.MAKE_MARKS)
    for index in rows_sql.UNIQUE_INDEXES:
        db.execute(rows_sql.drop_index(index))


@contextlib.contextmanager
def file_of(path: Path, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Iterator[apsw.Connection]:
    """A new workspace file with these rows, open."""
    with contextlib.closing(PortableFile(path)) as draft:
        draft.append((table, row) for table in rows_sql.TABLES for row in rows.get(table, ()))
        draft.finish()
        yield draft.unmark()


def _definition(index: str) -> str:
    """Return the definition of an index in the migrations."""
    return next(thing.definition for (_, name), thing in health.expected_structure().items() if name == index)


def rows_of(db: apsw.Connection) -> Rows:
    return {table: list(stream(db, rows_sql.select(table))) for table in rows_sql.TABLES}


def tables(db: apsw.Connection) -> Iterator[tuple[str, Iterator[Row]]]:
    """Every table with its rows, which are read one by one."""
    for table in rows_sql.TABLES:
        yield table, stream(db, rows_sql.select(table))


def stream(db: apsw.Connection, statement: str) -> Iterator[Row]:
    cursor = db.execute(statement)
    names: list[str] = []
    for row in cursor:
        names = names or [column[0] for column in cursor.get_description()]
        yield dict(zip(names, row, strict=True))


def count(db: apsw.Connection) -> int:
    """Count the rows that stand for themselves."""
    return sum(one(db, rows_sql.count(table)) for table in rows_sql.TABLES if table not in DERIVED)


def highest_key(db: apsw.Connection) -> int:
    return max(one(db, statement) or 0 for statement in rows_sql.HIGHEST_KEYS)


def workspace_of(db: apsw.Connection) -> dict[str, Any]:
    """Return the description that a file has of itself."""
    keys = ("workspace", "description", "created_at", "model")
    return {key: found[0] for key in keys if (found := db.execute(schema.GET_META, (key,)).fetchone())}
