"""Read a file under guard (its schema, its rows one by one, its digest), and copy one, sealed with that digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from memsweep.model.care import Seal
from memsweep.model.times import to_micros
from memsweep.store.file import care_sql, guarded, rows_sql, sealing, shape
from memsweep.store.file.connect import immediate, one
from memsweep.store.file.guarded import Guarded, NotSound
from memsweep.store.file.schema import GET_META, WORKSPACE_MIGRATIONS
from memsweep.store.file.shape import RowRules, Shape, Table

_OUTSIDE = {"vector_stage", shape.SEAL[1]}


class Content:
    """The content of a guarded file."""

    def __init__(self, there: Guarded, path: Path) -> None:
        self._there, self._db, self._path = there, there.db, path
        with guarded.file_errors(path):
            self._things = shape.things(self._db)
        self._shape: Shape | None = None
        self._meta: dict[Any, Any] = {}
        self._rows = hashlib.blake2b(digest_size=32)
        self.sequences: list[Sequence[Any]] = []

    @property
    def rows_digest(self) -> str:
        """Of the rows that were read, whatever can be made from them."""
        return self._rows.hexdigest()

    @property
    def tables(self) -> list[Table]:
        """Return the tables whose rows are the workspace, in the order in which they are read."""
        return [table for table in self._tables() if self._is_content(table)]

    def sealed(self) -> dict[str, Any]:
        """Return the seal. Its table is looked at first, for anything may have that name."""
        seals = [thing for thing in self._things if thing.name == shape.SEAL[1]]
        if not seals or seals[0] not in shape.shape_of(len(WORKSPACE_MIGRATIONS)).allowed[shape.SEAL]:
            raise NotSound("it has no seal")
        self._there.allow([shape.SEAL[1]])
        with guarded.file_errors(self._path):
            return sealing.checked(dict(self._db.execute(rows_sql.GET_SEAL)))

    def compare(self, version: int) -> None:
        """The schema with ours, then the pages; nothing is read before."""
        ours = shape.shape_of(version)
        if wrong := ours.problem(self._things):
            raise NotSound(f"it has {wrong}")
        self._shape = ours
        self._there.allow({table.name for table in self._tables()})
        with guarded.file_errors(self._path):
            found = self._db.execute(care_sql.CHECK_PAGES).fetchone()
        if found != ("ok",):
            raise NotSound(str(found[0]).splitlines()[-1] if found else "no answer")

    def digest(self, said: dict[str, Any], into: apsw.Connection | None = None) -> str:
        """Equal for equal structure and equal rows, whatever the pages look like; the rows go `into` a file."""
        hasher = hashlib.blake2b(repr(sorted(said.items())).encode(), digest_size=32)
        for thing in sorted(self._things):
            if thing.name not in _OUTSIDE and not thing.name.startswith("sqlite_"):
                hasher.update(repr(tuple(thing)).encode())
        for table in self._tables():
            columns = [(column.name, column.kind, column.key) for column in table.columns]
            hasher.update(repr((table.name, columns)).encode())
            rows = self._rows_and_digest(table, hasher)
            if into is None or not self._is_content(table):
                for _ in rows:
                    pass
            else:
                into.executemany(care_sql.insert(table), rows)
        return hasher.hexdigest()

    def _tables(self) -> list[Table]:
        assert self._shape is not None
        names = {thing.name for thing in self._things}
        return [table for table in self._shape.tables if table.name in names]

    def _is_content(self, table: Table) -> bool:
        assert self._shape is not None
        return table in self._shape.content

    def _rows_and_digest(self, table: Table, hasher: Any) -> Iterator[Sequence[Any]]:
        """The rows of a table that may be taken; the hasher hears of all of them."""
        texts = _texts(table)
        rules = RowRules(table, shape.dimension_of(self._meta)) if self._is_content(table) else None
        for number, row in enumerate(self._read(table), 1):
            if rules and (wrong := rules.problem(row)):
                raise NotSound(f"row {number:,} of {table.name}: {wrong}")
            said = _said(row, texts)
            hasher.update(said)
            if rules:
                self._rows.update(said)
            self._note(table, row)
            yield row
        self._look(table)

    def _read(self, table: Table) -> Iterator[Sequence[Any]]:
        number = 0
        try:
            with guarded.file_errors(self._path):
                for row in self._db.execute(care_sql.rows(table)):
                    number += 1
                    yield row
        except NotSound as error:
            raise NotSound(f"row {number + 1:,} of {table.name}: {error}") from error

    def _note(self, table: Table, row: Sequence[Any]) -> None:
        if table.name == "meta":
            self._meta[row[0]] = row[1]
        elif table.name == shape.SEQUENCES:
            self.sequences.append(row)

    def _look(self, table: Table) -> None:
        """At what a table says as a whole."""
        wrong = ""
        if table.name == "meta":
            wrong = shape.meta_problem(self._meta)
        elif table.name == shape.SEQUENCES:
            wrong = shape.sequence_problem(self.sequences, frozenset(each.name for each in self._tables()))
        if wrong:
            raise NotSound(f"{table.name}: {wrong}")


def digest_of_rows(db: apsw.Connection, tables: Iterable[Table]) -> str:
    """Of a file of our own: equal to `Content.rows_digest` for equal rows."""
    hasher = hashlib.blake2b(digest_size=32)
    for table in tables:
        texts = _texts(table)
        for row in db.execute(care_sql.rows(table)):
            hasher.update(_said(row, texts))
    return hasher.hexdigest()


def _texts(table: Table) -> list[int]:
    return [place for place, column in enumerate(table.columns) if "text" in column.kind.lower()]


def _said(row: Sequence[Any], texts: Iterable[int]) -> bytes:
    """A row as a digest hears of it: texts as bytes."""
    values = list(row)
    for place in texts:
        if values[place] is not None:
            values[place] = values[place].encode()
    return repr(tuple(values)).encode()


_PAGES_A_STEP = 1000


def copy(source: apsw.Connection, target: Path, version: str, now: datetime) -> Seal:
    """Write the state that the source's read transaction sees into an empty file, and seal it.

    It is read as a restore would read it: what could not be restored is no backup.
    """
    memories = one(source, rows_sql.COUNT_LIVE)  # the transaction begins with its first read
    schema = len(WORKSPACE_MIGRATIONS)
    with sealing.private(target) as db:
        copy_pages(source, db)
        _drop_strangers(db)
        workspace = one(db, GET_META, ("workspace",)) or ""
    values = {
        "format": sealing.FORMAT,
        "schema": schema,
        "version": version,
        "workspace": workspace,
        "taken_at": to_micros(now),
        "memories": memories,
    }
    try:
        with guarded.reading(target) as there:
            content = Content(there, target)
            content.compare(schema)
            values["digest"] = content.digest(values)
    except NotSound as error:
        raise apsw.CorruptError(str(error)) from error
    with sealing.private(target) as db, immediate(db):
        db.execute(rows_sql.MAKE_SEAL)
        db.executemany(rows_sql.SET_SEAL, values.items())
    return sealing.seal_of(values)


def copy_pages(source: apsw.Connection, target: apsw.Connection) -> None:
    """All pages as they are."""
    with target.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(_PAGES_A_STEP)
    target.pragma("journal_mode", "delete")  # one file, nothing beside it


def _drop_strangers(db: apsw.Connection) -> None:
    """Drop what only the original needs."""
    db.execute(rows_sql.DROP_MARKS)
    for thing in shape.strangers(shape.things(db), len(WORKSPACE_MIGRATIONS)):
        db.execute(care_sql.drop_thing(thing.kind, thing.name))  # a restore would refuse them
