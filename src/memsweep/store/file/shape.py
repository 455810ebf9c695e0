"""The schema that a file may have, for every version that has a migration, and the values in its rows."""

from __future__ import annotations

import contextlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime
from functools import cache
from typing import Any, NamedTuple

import apsw

from memsweep.model.forms import HASH_BYTES, digest
from memsweep.model.times import to_micros
from memsweep.store.file import care_sql, rows_sql
from memsweep.store.file.metadata_sql import definition
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.things.every import COLUMNS

LARGEST_KEY = 2**53
_HASH_BYTES = {
    (table, name): HASH_BYTES
    for table, columns in COLUMNS.items()
    for name, column in columns.items()
    if column.fits is digest
}
_VECTOR = ("vector", "data")
_KINDS: dict[str, tuple[type, ...]] = {
    "integer": (int, type(None)),
    "real": (float, type(None)),
    "text": (str, type(None)),
    "blob": (bytes, type(None)),
    "": (int, str, type(None)),
}
_NAMES = {int: "a whole number", float: "a number", str: "a text", bytes: "a blob", type(None): "nothing"}
_LATEST = to_micros(datetime(MAXYEAR, 12, 31, tzinfo=UTC))
_EARLIEST = to_micros(datetime(1, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as its table was made; the keys of a primary key are numbered from 1."""

    name: str
    kind: str
    key: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[TableColumn, ...]

    @property
    def row_key(self) -> int | None:
        """Return the place of the integer that is the row's own number; None if there is none."""
        keys = [place for place, column in enumerate(self.columns) if column.key]
        return keys[0] if len(keys) == 1 and self.columns[keys[0]].kind.lower() == "integer" else None


class RowRules:
    """The rules of one table in a file that we did not write; `dimension`: the bytes of a vector, if that is known.

    Only what SQLite or this program could not live with is refused here: another kind of value, a number that leaves
    no room for the next key, a hash of another length. Whether the rows make sense together is for the doctor.
    """

    def __init__(self, table: Table, dimension: int | None = None) -> None:
        self._table, self._row_key = table, table.row_key
        self._kinds = [_KINDS[column.kind.lower()] for column in table.columns]
        self._reals = [place for place, column in enumerate(table.columns) if column.kind.lower() == "real"]
        lengths = {**_HASH_BYTES, **({_VECTOR: dimension} if dimension else {})}
        places = {(table.name, column.name): place for place, column in enumerate(table.columns)}
        self._lengths = [(places[where], length) for where, length in lengths.items() if where in places]

    def problem(self, row: Sequence[Any]) -> str:
        """Return the problem of a row; empty if there is none."""
        for place, kinds in enumerate(self._kinds):
            if type(row[place]) not in kinds:
                return self._at(place, f"{_NAMES[type(row[place])]} instead of {_NAMES[kinds[0]]}")
        if self._row_key is not None and not 0 < row[self._row_key] < LARGEST_KEY:
            return self._at(self._row_key, f"{row[self._row_key]}, which is no key")
        for place in self._reals:
            if row[place] is not None and not math.isfinite(row[place]):
                return self._at(place, "a number that is not finite")
        for place, length in self._lengths:
            if row[place] is not None and len(row[place]) != length:
                return self._at(place, f"{len(row[place]):,} bytes instead of {length:,}")
        return ""

    def _at(self, place: int, what: str) -> str:
        return f"{self._table.columns[place].name} is {what}"


def meta_problem(meta: Mapping[Any, Any]) -> str:
    """Return the problem of a file's description of itself: this is used before a doctor can look at it."""
    for key in ("created_at", "deleted_at", "vector_generation"):
        value = meta.get(key)
        if value is not None and (type(value) is not int or not _EARLIEST <= value <= _LATEST):
            return f"{key} is {value!r:.40}"
    for key in ("workspace", "description", "staged_model"):
        if not isinstance(meta.get(key, ""), str):
            return f"{key} is no text"
    if meta.get("model") is not None and dimension_of(meta) is None:
        return f"model is {meta['model']!r:.60}"
    return ""


def dimension_of(meta: Mapping[Any, Any]) -> int | None:
    """Return the bytes of a vector; None if that is not known or not written as we write it."""
    try:
        model = json.loads(meta.get("model") or "")
    except (TypeError, ValueError, RecursionError):
        return None
    match model:
        case {"name": str(), "dimension": int(dimension), **rest} if not rest and 0 < dimension <= 2**16:
            return dimension
    return None


def sequence_problem(rows: Sequence[Sequence[Any]], known: frozenset[str]) -> str:
    """Return the problem of the numbers that were given out last; empty if there is none."""
    names = [row[0] for row in rows]
    if len(set(names)) < len(names) or not known.issuperset(names):
        return "a table that gives out no numbers, or one twice"
    wrong = [row[0] for row in rows if type(row[1]) is not int or not 0 <= row[1] < LARGEST_KEY]
    return f"the last number of {wrong[0]}" if wrong else ""


Key = tuple[str, str]
"""Kind and name, such as index and memory_by_hash."""
SEAL = ("table", "backup_seal")
SEQUENCES = "sqlite_sequence"


class Thing(NamedTuple):
    """A line of sqlite_schema."""

    kind: str
    name: str
    table: str
    definition: str | None

    @property
    def key(self) -> Key:
        return self.kind, self.name

    @property
    def is_virtual(self) -> bool:
        return (self.definition or "").lower().startswith("create virtual")


@dataclass(frozen=True, slots=True)
class Shape:
    """The schema of files of one version: the allowed definitions, the required objects, those that hold rows."""

    allowed: Mapping[Key, frozenset[Thing]]
    required: frozenset[Key]
    content: tuple[Table, ...]
    """Tables whose rows are the workspace; the rest can be made again from them."""
    derived: tuple[Table, ...]
    """What is made from them, or is only of use where it stands."""

    @property
    def tables(self) -> list[Table]:
        """All that a digest goes over, in its order."""
        return sorted((*self.content, *self.derived), key=lambda table: table.name)

    def problem(self, there: Sequence[Thing]) -> str:
        """The first object that is not as it should be; empty if all are."""
        for thing in there:
            if is_of_metadata(thing):
                continue
            if thing.key not in self.allowed:
                return f"an unknown {thing.kind} {thing.name!r:.60}"
            if thing not in self.allowed[thing.key]:
                return f"another definition of {thing.kind} {thing.name!r:.60}"
        counts = Counter(thing.key for thing in there)
        if wrong := [key for key in self.required if not counts[key]]:
            return "no {} {}".format(*min(wrong))
        twice = [key for key, count in counts.items() if count > 1]
        return "{} {} twice".format(*twice[0]) if twice else ""


def is_of_metadata(thing: Thing) -> bool:
    """Return whether it is an index that a setting asked for."""
    return thing.kind == "index" and thing.definition is not None and thing.definition == definition(thing.name)


def things(db: apsw.Connection) -> list[Thing]:
    rows: Iterable[Any] = db.execute(care_sql.SCHEMA)
    return [Thing._make(row) for row in rows]


def strangers(there: Iterable[Thing], version: int) -> list[Thing]:
    """Return the objects that no version of memsweep has made, in an order in which they can be dropped."""
    allowed = shape_of(version).allowed
    unknown = (each for each in there if each.key not in allowed and each.definition and not is_of_metadata(each))
    return sorted(unknown, key=lambda thing: _DROPPED.index(thing.kind) + (not thing.is_virtual))


_DROPPED = ("trigger", "view", "index", "table")


@cache
def shape_of(version: int) -> Shape:
    with contextlib.closing(_made(version)) as db:
        ours, content, others = things(db), _tables(db, "table"), _tables(db, "shadow")
        for statement in care_sql.BESIDE:
            db.execute(statement)
        beside = [table for table in _tables(db, "table") if table not in content and table.name != SEAL[1]]
        possible = {*things(db), *(thing for earlier in _earlier(version) for thing in earlier)}
    required = frozenset(thing.key for thing in ours) - care_sql.MAY_BE_MISSING
    keys = {thing.key for thing in possible}
    allowed = {key: frozenset(thing for thing in possible if thing.key == key) for key in keys}
    kept = tuple(table for table in content if table.name != SEQUENCES)
    return Shape(allowed, required, kept, tuple(table for table in (*content, *others, *beside) if table not in kept))


def _tables(db: apsw.Connection, kind: str) -> list[Table]:
    names: list[Any] = db.execute(care_sql.TABLES, (kind,)).fetchall()
    return [
        Table(name, tuple(TableColumn(*column) for column in db.execute(rows_sql.COLUMNS, (name,))))
        for (name,) in names
    ]


def _earlier(version: int) -> list[list[Thing]]:
    """The objects of files that were made before the first migration was settled."""
    found = []
    for settled, before in care_sql.EARLIER:
        with contextlib.closing(_made(version, settled, before)) as db:
            found.append(things(db))
    return found


def _made(version: int, settled: str = "", before: str = "") -> apsw.Connection:
    """A file of a version, in memory."""
    db = apsw.Connection(":memory:")
    first, *later = WORKSPACE_MIGRATIONS[:version]
    for migration in (first.replace(settled, before), *later):
        db.execute(migration)
    return db
