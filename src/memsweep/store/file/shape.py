"""The schema that a file may have, for every version that has a migration, object by object."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import apsw

from memsweep.store.file import care_sql, rows_sql
from memsweep.store.file.row_rules import Table, TableColumn
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS

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
            if thing.key not in self.allowed:
                return f"an unknown {thing.kind} {thing.name!r:.60}"
            if thing not in self.allowed[thing.key]:
                return f"another definition of {thing.kind} {thing.name!r:.60}"
        counts = Counter(thing.key for thing in there)
        if wrong := [key for key in self.required if not counts[key]]:
            return "no {} {}".format(*min(wrong))
        twice = [key for key, count in counts.items() if count > 1]
        return "{} {} twice".format(*twice[0]) if twice else ""


def things(db: apsw.Connection) -> list[Thing]:
    rows: Iterable[Any] = db.execute(care_sql.SCHEMA)
    return [Thing._make(row) for row in rows]


def strangers(there: Iterable[Thing], version: int) -> list[Thing]:
    """Return the objects that no version of memsweep has made, in an order in which they can be dropped."""
    allowed = shape_of(version).allowed
    unknown = (thing for thing in there if thing.key not in allowed and thing.definition)
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
