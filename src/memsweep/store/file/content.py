"""Read a file under guard (its schema, its rows one by one, its digest), and copy one, sealed with that digest."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from memsweep.errors import StoreError
from memsweep.forking import stores
from memsweep.model.care import Seal
from memsweep.model.times import from_micros, to_micros
from memsweep.store.file import care_sql, rows_sql, shape
from memsweep.store.file.connect import as_it_is, guard, immediate, one
from memsweep.store.file.schema import GET_META, WORKSPACE_MIGRATIONS
from memsweep.store.file.shape import LARGEST_KEY, RowRules, Shape, Table

MOST_VALUE_BYTES = 64 << 20
_MOST_SCHEMA_BYTES = 20_000  # of one object; ours have less than a thousand
_STEPS_A_LOOK = 1000
_SCHEMA_LOOKS = 20  # ours takes about one
_LOOKS_A_MEGABYTE = 50_000  # a row of ten bytes takes less than a hundred steps to check and to read
_CONFIG = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
}
_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: _MOST_SCHEMA_BYTES,
    apsw.SQLITE_LIMIT_SQL_LENGTH: _MOST_SCHEMA_BYTES,
    apsw.SQLITE_LIMIT_COLUMN: 100,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 20,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 2,
    apsw.SQLITE_LIMIT_VDBE_OP: 100_000,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 8,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}
# These speak of the machine, everything else of the file.
_OF_THE_MACHINE = (apsw.IOError, apsw.FullError, apsw.NoMemError, apsw.CantOpenError, apsw.PermissionsError)


class NotSound(Exception):
    """A file is not as memsweep would have written it; the message says where."""


class Guarded:
    """A connection that reads the tables it was allowed to, as long as the size of the file can explain it.

    Nothing in a file that we did not write is run, and neither time nor memory has no end.
    """

    def __init__(self, db: apsw.Connection, size: int) -> None:
        self.db = db
        self._size, self._looks = size, _SCHEMA_LOOKS
        self._tables: Collection[str] = ("sqlite_master",)
        db.set_progress_handler(self._is_over, _STEPS_A_LOOK)
        db.authorizer = self._judge

    def allow(self, tables: Collection[str]) -> None:
        """The schema was compared: these tables may be read from now on, whole rows of them."""
        self._tables = tables
        self._looks = _SCHEMA_LOOKS + self._size * _LOOKS_A_MEGABYTE // 1_000_000
        self.db.limit(apsw.SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)

    def _is_over(self) -> bool:
        self._looks -= 1
        return self._looks < 0

    def _judge(self, action: int, first: str | None, *_: str | None) -> int:
        match action:
            case apsw.SQLITE_SELECT:
                allowed = True
            case apsw.SQLITE_READ:
                allowed = first in self._tables
            case apsw.SQLITE_PRAGMA:
                allowed = first == "quick_check"
            case _:
                allowed = False
        return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY


@contextmanager
def reading(path: Path) -> Iterator[Guarded]:
    """Open a private copy. Journals beside it are not played, virtual tables are not known."""
    with stores:
        with file_errors(path):
            db = _open(path)
        with contextlib.closing(db):
            yield Guarded(db, path.stat().st_size)


def _open(path: Path) -> apsw.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    db = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    db.drop_modules(None)
    for option, value in _CONFIG.items():
        db.config(option, value)
    for kind, most in _LIMITS.items():
        db.limit(kind, most)
    db.execute(care_sql.SETUP)
    return db


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Tell errors of the disk from those of the file."""
    try:
        yield
    except _OF_THE_MACHINE as error:
        raise StoreError(
            f"a copy in {path.parent} could not be read ({error}); nothing was changed.",
            hint="Check the disk and the memory of this machine.",
        ) from error
    except apsw.InterruptError:
        raise NotSound("reading it does not come to an end") from None
    except apsw.TooBigError:
        raise NotSound(f"a row of more than {MOST_VALUE_BYTES:,} bytes") from None
    except UnicodeDecodeError as error:
        raise NotSound(f"text that is not UTF-8 ({error.reason})") from None
    except apsw.Error as error:
        raise NotSound(str(error)) from error


FORMAT = 1
_KINDS = {
    "format": int,
    "schema": int,
    "version": str,
    "workspace": str,
    "taken_at": int,
    "memories": int,
    "digest": str,
}
_DIGEST = re.compile("[0-9a-f]{64}")
_MOST_LETTERS = 200


@contextmanager
def private(path: Path) -> Iterator[apsw.Connection]:
    """A connection to a draft that nobody else knows: no syncing, nothing left beside it."""
    with as_it_is(path) as db:
        guard(db)
        db.execute("pragma locking_mode=exclusive; pragma synchronous=off; pragma journal_mode=memory")
        db.execute("pragma cache_size=-64000")
        yield db


def checked(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a seal, if it is one; of a newer one only what it takes to refuse it by name."""
    if isinstance(number := values.get("format"), int) and number > FORMAT:
        return {"format": number, "schema": 0, "version": str(values.get("version"))}
    if values.keys() != _KINDS.keys() or any(type(values[name]) is not kind for name, kind in _KINDS.items()):
        raise NotSound("its seal is not one of memsweep")
    sizes = [len(values[name]) for name in ("version", "workspace")]
    if max(sizes) > _MOST_LETTERS or not _DIGEST.fullmatch(values["digest"]) or values["memories"] < 0:
        raise NotSound("its seal is not one of memsweep")
    if not 0 <= values["taken_at"] < LARGEST_KEY:
        raise NotSound("its seal has no date")
    return values


def seal_of(values: dict[str, Any]) -> Seal:
    return Seal(
        workspace_id=values["workspace"],
        taken_at=from_micros(values["taken_at"]),
        version=values["version"],
        memories=values["memories"],
        digest=values["digest"],
    )


_OUTSIDE = {"vector_stage", shape.SEAL[1]}


class Content:
    """The content of a guarded file."""

    def __init__(self, there: Guarded, path: Path) -> None:
        self._there, self._db, self._path = there, there.db, path
        with file_errors(path):
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
        with file_errors(self._path):
            return checked(dict(self._db.execute(rows_sql.GET_SEAL)))

    def compare(self, version: int) -> None:
        """The schema with ours, then the pages; nothing is read before."""
        ours = shape.shape_of(version)
        if wrong := ours.problem(self._things):
            raise NotSound(f"it has {wrong}")
        self._shape = ours
        self._there.allow({table.name for table in self._tables()})
        with file_errors(self._path):
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
            with file_errors(self._path):
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
    with private(target) as db:
        copy_pages(source, db)
        _drop_strangers(db)
        workspace = one(db, GET_META, ("workspace",)) or ""
    values = {
        "format": FORMAT,
        "schema": schema,
        "version": version,
        "workspace": workspace,
        "taken_at": to_micros(now),
        "memories": memories,
    }
    try:
        with reading(target) as there:
            content = Content(there, target)
            content.compare(schema)
            values["digest"] = content.digest(values)
    except NotSound as error:
        raise apsw.CorruptError(str(error)) from error
    with private(target) as db, immediate(db):
        db.execute(rows_sql.MAKE_SEAL)
        db.executemany(rows_sql.SET_SEAL, values.items())
    return seal_of(values)


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
