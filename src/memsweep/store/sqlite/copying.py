"""Copies of a workspace file, sealed with a digest of everything in them, and opened again."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from memsweep.errors import StoreCorrupt, StoreTooNew
from memsweep.model.care import Seal
from memsweep.model.times import from_micros, to_micros
from memsweep.store.sqlite import care_sql, rows_sql, sql
from memsweep.store.sqlite.connect import immediate, one
from memsweep.store.sqlite.schema import WORKSPACE_MIGRATIONS

FORMAT = 1
_PAGES_A_STEP = 1000


def copy(source: apsw.Connection, target: Path, version: str, now: datetime) -> Seal:
    """Write the state that the source's read transaction sees into an empty file, and seal it."""
    memories = one(source, care_sql.COUNT_LIVE)  # the transaction begins with its first read
    with private(target) as db:
        copy_pages(source, db)
        db.execute(rows_sql.DROP_MARKS)
        if how := damage(db):
            raise apsw.CorruptError(how)
        values = {
            "format": FORMAT,
            "schema": db.pragma("user_version"),
            "version": version,
            "workspace": one(db, sql.GET_META, ("workspace",)) or "",
            "taken_at": to_micros(now),
            "memories": memories,
        }
        values["digest"] = digest(db, values)
        with immediate(db):
            db.execute(care_sql.MAKE_SEAL)
            db.executemany(care_sql.SET_SEAL, values.items())
    return _seal(values)


def copy_pages(source: apsw.Connection, target: apsw.Connection) -> None:
    with target.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(_PAGES_A_STEP)
    target.pragma("journal_mode", "delete")  # one file, nothing beside it


@contextmanager
def private(path: Path) -> Iterator[apsw.Connection]:
    """A connection to a draft that nobody else knows: no syncing, nothing left beside it."""
    with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        db.execute("pragma locking_mode=exclusive; pragma synchronous=off; pragma journal_mode=memory")
        yield db


def unseal(db: apsw.Connection, named: Path) -> Seal:
    """Check a copy of a backup against its seal and take the seal off; `named` is where the backup is."""
    try:
        return _unseal(db, named)
    except (apsw.Error, ValueError, KeyError, TypeError, OverflowError) as error:
        raise _damaged(named, str(error)) from error


def _unseal(db: apsw.Connection, named: Path) -> Seal:
    if not one(db, care_sql.IS_SEALED):
        raise StoreCorrupt(
            f"{named} is not a backup of memsweep; nothing was changed.",
            hint="Only a file that `memsweep backup` wrote can be restored.",
        )
    values: dict[str, Any] = dict(db.execute(care_sql.GET_SEAL))
    if values["format"] > FORMAT or values["schema"] > len(WORKSPACE_MIGRATIONS):
        raise StoreTooNew(
            f"{named} was written by a newer memsweep ({values['version']}); nothing was changed.",
            hint="Upgrade memsweep.",
        )
    if how := damage(db):
        raise _damaged(named, how)
    with immediate(db):
        db.execute(care_sql.DROP_SEAL)
    promised = values.pop("digest")
    if values["schema"] != db.pragma("user_version") or promised != digest(db, values):
        raise _damaged(named, "its content is not what was backed up")
    return _seal({**values, "digest": promised})


def digest(db: apsw.Connection, said: dict[str, Any]) -> str:
    """Equal for equal structure and equal rows, whatever the pages look like."""
    hasher = hashlib.blake2b(repr(sorted(said.items())).encode(), digest_size=32)
    for row in db.execute(care_sql.STRUCTURE):
        hasher.update(repr(row).encode())
    for (table,) in db.execute(care_sql.TABLES).fetchall():
        columns: list[Any] = db.execute(care_sql.COLUMNS, (table,)).fetchall()
        hasher.update(repr((table, columns)).encode())
        for row in db.execute(care_sql.content_of(str(table), columns)):
            hasher.update(repr(row).encode())
    return hasher.hexdigest()


def damage(db: apsw.Connection) -> str:
    """What is wrong with the pages of a file; empty if nothing is."""
    found = db.execute("pragma quick_check(1)").fetchone()
    said = str(found[0]) if found else "no answer"
    return "" if said == "ok" else said.splitlines()[-1]


def _damaged(named: Path, how: str) -> StoreCorrupt:
    return StoreCorrupt(f"{named} is damaged ({how:.100}); nothing was changed.", hint="Use another backup.")


def _seal(values: dict[str, Any]) -> Seal:
    return Seal(
        workspace_id=values["workspace"],
        taken_at=from_micros(values["taken_at"]),
        version=values["version"],
        memories=values["memories"],
        digest=values["digest"],
    )
