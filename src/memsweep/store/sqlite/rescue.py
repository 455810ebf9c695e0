"""Repair the home: damaged rows of the registry, and workspace files that need a new file."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from memsweep.errors import StoreCorrupt, StoreError
from memsweep.model.text import counted
from memsweep.store.drafts import draft_of, remove
from memsweep.store.file import care_sql, commit_marker, content, health, rows_sql, schema, values
from memsweep.store.file.connect import Pool, as_it_is, connected, exists, immediate, make_file, one, plain_errors
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.file.values import Damaged, mended, misfits
from memsweep.store.things.every import COLUMNS

Row = dict[str, Any]
_MOST_LOOKUPS = 1_000_000
_FATAL = {"file_damaged", "table_changed"}


class Saved(NamedTuple):
    """The number of saved rows of each table, and of those known to be lost."""

    rows: dict[str, int]
    lost: dict[str, int]


def is_broken(path: Path) -> bool:
    """Return whether a file cannot be mended in place. Of one that the disk does not give back, that is unknown."""
    with plain_errors(path):
        return _seems_broken(path) and _seems_broken(path) and not refusal(path)


def _seems_broken(path: Path) -> bool:
    try:
        with as_it_is(path) as db:
            commit_marker.notice(db, path)
            return bool(_FATAL & {found.invariant for found in health.examine_pages(db)})
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError):
        return True
    except apsw.IOError:
        return False


def salvage(source: Path, target: Path, now: int) -> Saved:
    """Make a new workspace file of what can be read of another one."""
    saved = Saved({}, {})
    with draft_of(target, stem="salvage") as draft, _copy_of(source) as old, plain_errors(target):
        with connected(draft, WORKSPACE_MIGRATIONS, lambda db: None) as new, immediate(new):
            for index in rows_sql.UNIQUE_INDEXES:  # rows that are there twice are the doctor's
                new.execute(rows_sql.drop_index(index))
            for table in rows_sql.TABLES:
                _save_table(old, new, table, saved, now)
            for name, last in _try(lambda: old.execute(care_sql.COUNTERS).fetchall()) or ():
                new.execute(care_sql.RAISE_COUNTER, (last, name))  # keys never come back
            for statement in rows_sql.REBUILD_WORDS:
                new.execute(statement)
        _close_log(draft)
    return saved


def _hopeless(source: Path, how: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"nothing in {source} can be read ({how}); it was left as it is.", hint="Restore a backup with --replace."
    )


@contextlib.contextmanager
def _copy_of(source: Path) -> Iterator[apsw.Connection]:
    """The pages of a damaged file as they are, in a file of its own."""
    with tempfile.TemporaryDirectory(prefix="memsweep-") as folder:
        pages = Path(folder) / "pages"
        make_file(pages)
        with content.private(pages) as copy:
            try:
                with as_it_is(source) as db:
                    content.copy_pages(db, copy)
                tables = copy.execute(care_sql.TABLE_NAMES).fetchall()
            except (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.CantOpenError) as error:
                raise _hopeless(source, str(error)) from error
            if ("memory",) not in tables:
                raise _hopeless(source, "it has no memories")
            yield copy


def _close_log(draft: Path) -> None:
    """One file, nothing beside it, so that it can get another name."""
    with as_it_is(draft) as db:
        db.pragma("journal_mode", "delete")


def _save_table(old: apsw.Connection, new: apsw.Connection, table: str, saved: Saved, now: int) -> None:
    there = {column for column, *_ in _try(lambda: old.execute(rows_sql.COLUMNS, (table,)).fetchall()) or ()}
    columns = [column for column in COLUMNS[table] if column in there]
    kept = lost = 0
    for key, row in _readable_rows(old, table, columns) if columns else ():
        wrong = misfits(table, {**dict.fromkeys(COLUMNS[table]), **row})
        made = mended(table, {**dict.fromkeys(COLUMNS[table]), **row}, wrong, key, now) if wrong else {}
        if row is _UNREADABLE or made is None or not _insert(new, table, {**row, **made}):
            lost += 1
        else:
            kept += 1
    saved.rows[table], saved.lost[table] = kept, lost


_UNREADABLE: Row = {}


def _insert(new: apsw.Connection, table: str, row: Row) -> bool:
    try:
        new.execute(rows_sql.insert(table, row), row)
    except apsw.ConstraintError:
        return False  # a row with this key was saved already
    return True


def _readable_rows(db: apsw.Connection, table: str, columns: list[str]) -> Iterator[tuple[int, Row]]:
    """From the front as far as it goes, then from the back, then one by one in between."""
    has_key = values.has_rowid(table)
    seen: set[Any] = set()
    whole = False
    for order in ("asc", "desc"):
        rows = values.exact_rows(db, table, columns, order=order)
        while not whole:
            try:
                key, row = next(rows)
            except StopIteration:
                whole = True
            except apsw.CorruptError:
                break
            else:
                name = key if has_key else repr(row)
                if name in seen:
                    whole = has_key
                    break
                seen.add(name)
                yield key, row
    if has_key and not whole:
        yield from _between(db, table, columns, seen)


def _between(db: apsw.Connection, table: str, columns: list[str], seen: set[int]) -> Iterator[tuple[int, Row]]:
    """Rows between damaged pages are found by their keys, which are known to lie below the highest one."""
    highest = max([*seen, _try(lambda: db.execute(care_sql.HIGHEST, (table,)).fetchall()[0][0]) or 0])
    for key in range(1, min(highest, _MOST_LOOKUPS) + 1):
        if key not in seen:
            try:
                yield from values.exact_rows(db, table, columns, key=key)
            except apsw.CorruptError:
                yield key, _UNREADABLE


def _try(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except apsw.IOError:
        raise  # else a table would be left out for a read that was refused once
    except (apsw.Error, IndexError):
        return None


_BYTES_A_READ = 1 << 20


def refusal(path: Path) -> str:
    """Return the disk's error when a database file and its log are read to the end; empty if it reads all.

    SQLite's own checks do not tell: a page that cannot be read is to them a row that an index does not have.
    """
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            if os.path.isfile(file):
                _read(file)
        except apsw.IOError as error:
            return f"{file} ({error})"
        except apsw.CantOpenError:  # it has gone meanwhile, or may not be read, which others say
            continue
    return ""


def _read(path: Path) -> None:
    """Through SQLite: to open and close a file beside it would drop the locks that this process has on it."""
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    try:
        size = file.xFileSize()
        for offset in range(0, size, _BYTES_A_READ):
            file.xRead(min(_BYTES_A_READ, size - offset), offset)
    finally:
        file.xClose()


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
            found = one(db, schema.GET_META, (key,))
    except (apsw.Error, UnicodeDecodeError):
        return None
    return found if isinstance(found, str | int) else None


def put_aside(pool: Pool, now: int) -> Path:
    """A copy of a database file, for what a repair replaces."""
    target = commit_marker.place(pool.path, commit_marker.DAMAGED, str(now), ".sqlite")
    make_file(target)
    try:
        with pool.reading() as db, plain_errors(target), content.private(target) as copy:
            content.copy_pages(db, copy)
    except StoreError:
        remove(target)
        raise
    return target


def salvage_files(registry: Pool, folder: Path, note: Note, now: int) -> list[str]:
    """Every workspace whose file cannot be mended where it is gets a new one with what can be read of the old."""
    with registry.reading() as db:
        rows: list[Any] = db.execute(care_sql.LIVE_WORKSPACES).fetchall()
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
            db.execute(schema.SET_META, ("workspace", name))
            note(db)
        with registry.writing() as db:
            db.execute(care_sql.SET_FILE, (new.name, old.name))
    except BaseException:
        remove(new)
        raise
    kept = commit_marker.place(new, commit_marker.DAMAGED, str(now), ".sqlite")
    for end in ("", "-wal"):  # the log first would leave a file that seems whole
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{old}{end}", f"{kept}{end}")
    for path in commit_marker.all_of(old):
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
