"""A workspace as rows, by table: the form in which another engine hands it over and takes it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from memsweep.store.sqlite import health, rows_sql, sql
from memsweep.store.sqlite.connect import connect, immediate, make_file
from memsweep.store.sqlite.schema import WORKSPACE_MIGRATIONS

Rows = dict[str, list[dict[str, Any]]]


@contextmanager
def file_of(path: Path, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Iterator[apsw.Connection]:
    """A new workspace file with these rows, open."""
    make_file(path)
    with contextlib.closing(connect(path, WORKSPACE_MIGRATIONS, lambda db: None)) as db:
        with immediate(db):
            for index in rows_sql.UNIQUE_INDEXES:
                db.execute(rows_sql.drop_index(index))
            for table in rows_sql.TABLES:
                _write(db, table, rows.get(table, ()))
            for index in rows_sql.UNIQUE_INDEXES:  # rows that are there twice are the doctor's
                with contextlib.suppress(apsw.ConstraintError):
                    db.execute(_definition(index))
            for statement in rows_sql.REBUILD_WORDS:
                db.execute(statement)
        yield db


def rows_of(db: apsw.Connection) -> Rows:
    return {table: _read(db, table) for table in rows_sql.TABLES}


def workspace_of(db: apsw.Connection) -> dict[str, Any]:
    """What a file says of itself."""
    keys = ("workspace", "description", "created_at")
    return {key: found[0] for key in keys if (found := db.execute(sql.GET_META, (key,)).fetchone())}


def _definition(index: str) -> str:
    """What the migrations say of it."""
    return next(thing.definition for (_, name), thing in health.expected_structure().items() if name == index)


def _write(db: apsw.Connection, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    for row in rows:
        db.execute(rows_sql.insert(table, row), dict(row))


def _read(db: apsw.Connection, table: str) -> list[dict[str, Any]]:
    cursor = db.execute(rows_sql.select(table))
    found = cursor.fetchall()
    if not found:
        return []
    names = [column[0] for column in db.execute(rows_sql.select(table)).get_description()]
    return [dict(zip(names, row, strict=True)) for row in found]
