"""Save what can be read of a file with damaged pages, or with tables that are not ours, into a new file.

The damaged file is only read: its pages are copied first, and the copy is looked at row by row. A row that
cannot be read, or means nothing, is left out and counted; the doctor then sees to what belonged to it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from memsweep.errors import StoreCorrupt
from memsweep.store.drafts import draft_of
from memsweep.store.file import copy_sql, copying, health, mark, rows_sql, sealing, values, values_sql
from memsweep.store.file.connect import as_it_is, connected, immediate, make_file, plain_errors
from memsweep.store.file.misfits import mended, misfits
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.sqlite.readable import refusal
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
            mark.notice(db, path)
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
            for name, last in _try(lambda: old.execute(values_sql.COUNTERS).fetchall()) or ():
                new.execute(values_sql.RAISE_COUNTER, (last, name))  # keys never come back
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
        with sealing.private(pages) as copy:
            try:
                with as_it_is(source) as db:
                    copying.copy_pages(db, copy)
                tables = copy.execute(values_sql.TABLES).fetchall()
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
    there = {column for column, *_ in _try(lambda: old.execute(copy_sql.COLUMNS, (table,)).fetchall()) or ()}
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
    highest = max([*seen, _try(lambda: db.execute(values_sql.HIGHEST, (table,)).fetchall()[0][0]) or 0])
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
