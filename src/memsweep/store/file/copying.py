"""Copies of a workspace file, sealed with a digest of everything in them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import apsw

from memsweep.model.care import Seal
from memsweep.model.times import to_micros
from memsweep.store.file import care_sql, guarded, rows_sql, sealing, shape
from memsweep.store.file.connect import immediate, one
from memsweep.store.file.content import Content
from memsweep.store.file.guarded import NotSound
from memsweep.store.file.schema import GET_META, WORKSPACE_MIGRATIONS

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
