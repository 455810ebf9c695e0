"""Repair the home: damaged rows of the registry, and workspace files that need a new file."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from memsweep.errors import StoreError
from memsweep.model.text import counted
from memsweep.store.drafts import remove
from memsweep.store.file import aside, copying, meta_sql, sealing, values, values_sql
from memsweep.store.file.connect import Pool, as_it_is, connected, exists, immediate, make_file, one, plain_errors
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.file.values import Damaged
from memsweep.store.sqlite.salvage import Saved, is_broken, salvage

Note = Callable[[apsw.Connection], None]
"""Writes what was done into the audit log."""
# What the registry says of a workspace, and under which name its file says it, too.
_SAID_BY_FILE = {"name": "workspace", "description": "description", "created_at": "created_at"}


def damaged_rows(registry: Pool) -> list[str]:
    with registry.reading() as db:
        return [values.place_of(db, damaged) for damaged in values.find(db)]


def mend_registry(registry: Pool, folder: Path, now: int) -> list[str]:
    """Take what the files say of themselves; the registry as it was is put aside."""
    kept = put_aside(registry, now)

    def from_the_file(db: apsw.Connection, damaged: Damaged, column: str) -> Any:
        file = damaged.row.get("file")
        if column not in _SAID_BY_FILE or not isinstance(file, str) or not exists(folder / file):
            return None
        return said(folder / file, _SAID_BY_FILE[column])

    with registry.writing() as db:
        lost = values.mend(db, now, from_the_file)
    return [*lost, f"the registry as it was is kept as {kept}."]


def said(path: Path, key: str) -> Any:
    """Return a value that a workspace file says of itself; None if it is missing or damaged."""
    try:
        with as_it_is(path) as db:
            found = one(db, meta_sql.GET_META, (key,))
    except (apsw.Error, UnicodeDecodeError):
        return None
    return found if isinstance(found, str | int) else None


def put_aside(pool: Pool, now: int) -> Path:
    """A copy of a database file, for what a repair replaces."""
    target = aside.place(pool.path, aside.DAMAGED, str(now), ".sqlite")
    make_file(target)
    try:
        with pool.reading() as db, plain_errors(target), sealing.private(target) as copy:
            copying.copy_pages(db, copy)
    except StoreError:
        remove(target)
        raise
    return target


def salvage_files(registry: Pool, folder: Path, note: Note, now: int) -> list[str]:
    """Every workspace whose file cannot be mended where it is gets a new one with what can be read of the old."""
    with registry.reading() as db:
        rows: list[Any] = db.execute(values_sql.LIVE_WORKSPACES).fetchall()
    lost = []
    for name, file in rows:
        path = folder / file
        if exists(path) and is_broken(path):
            with _held(path):
                lost += _replace(registry, path, name, note, now)
    return lost


def _replace(registry: Pool, old: Path, name: str, note: Note, now: int) -> list[str]:
    new = old.with_name(f"{secrets.token_hex(8)}.db")
    saved = salvage(old, new, now)
    try:
        with plain_errors(new), connected(new, WORKSPACE_MIGRATIONS) as db, immediate(db):
            db.execute(meta_sql.SET_META, ("workspace", name))
            note(db)
        with registry.writing() as db:
            db.execute(values_sql.SET_FILE, (new.name, old.name))
    except BaseException:
        remove(new)
        raise
    kept = aside.place(new, aside.DAMAGED, str(now), ".sqlite")
    for end in ("", "-wal"):  # the log first would leave a file that seems whole
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{old}{end}", f"{kept}{end}")
    for path in aside.all_of(old):
        path.rename(new.with_name(path.name.replace(old.stem, new.stem, 1)))
    for path in old.parent.glob(f"{old.stem}.*"):  # the mark, the vector files
        path.unlink(missing_ok=True)
    return [_notice(name, saved, kept)]


def _notice(name: str, saved: Saved, kept: Path) -> str:
    lost = ", ".join(f"{counted(count, 'row')} of {table}" for table, count in saved.lost.items() if count)
    found = f"{counted(saved.rows['memory'], 'memory', 'memories')} and {counted(saved.rows['segment'], 'segment')}"
    return (
        f"workspace {name!r}: {found} were saved into a new file; not readable: {lost or 'nothing that is known of'};"
        f" the damaged file is kept as {kept} until the next purge."
    )


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep others from writing to a damaged file, as far as it can still be written to."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(apsw.Error):
            db = stack.enter_context(as_it_is(path))
            db.set_busy_timeout(5000)
            stack.enter_context(immediate(db))
        yield
