"""Opening SQLite files, and saying in our words what SQLite refuses.

The order matters: the busy timeout first, WAL only where it is not on yet, the schema inside an
immediate transaction after another look at the version. The timeout does not cover the switch to WAL,
so opening is tried again until the timeout has passed.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import apsw

from memsweep import errors
from memsweep.store.file import mark, suspects
from memsweep.store.file.script import spread_script

Fill = Callable[[apsw.Connection], None]

BUSY_SECONDS = 60.0
# secure_delete zeroes what is freed, on every connection: what a purge frees may have been copied by any write
# before it (merges of the full text move words about), and looking for it later would mean to rewrite the file.
# It costs an add about three percent.
_PRAGMAS = "pragma synchronous=full; pragma temp_store=memory; pragma cache_size=-8000; pragma secure_delete=on"


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into sentences that name the file."""
    try:
        yield
    except apsw.Error as error:
        raise _translate(error, path) from error


def _translate(error: apsw.Error, path: Path) -> errors.StoreError:
    match error:
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return errors.StoreBusy(
                f"another process has been writing to {path} for more than {BUSY_SECONDS:.0f} s; nothing was changed.",
                hint="Try again.",
            )
        case apsw.FullError():
            return errors.StoreFull(f"no space left for {path}; nothing was changed.", hint="Free some space.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return errors.StoreReadOnly(f"{path} cannot be written.", hint="Check its permissions.")
        case apsw.CantOpenError():
            return errors.StoreReadOnly(
                f"{path} cannot be opened for writing.", hint=f"Check the permissions of {path.parent}."
            )
        case apsw.NotADBError() | apsw.CorruptError():
            return errors.StoreCorrupt(
                f"{path} is damaged or is not a memsweep file ({error}); it was left as it is.",
                hint="Restore it from a backup, or move it away to start over.",
            )
        case apsw.IOError() if getattr(error, "extendedresult", 0) in _NOT_SYNCED:
            # All of the transaction is in the log; whoever opens the file next may find it there.
            return errors.StoreError(
                f"the disk refused to sync {path} ({error}); it is not certain whether the change was kept.",
                hint="Check the disk, and look before doing it again.",
            )
        case apsw.IOError():
            # A limit on the size of files looks like this too.
            return errors.StoreFull(
                f"the disk refused to read or write {path} ({error}); nothing was changed.",
                hint="Check the free space and the limits.",
            )
    return errors.StoreError(f"{path}: {error}")


_NOT_SYNCED = {apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC}


def exists(path: Path) -> bool:
    return inode(path) is not None


def inode(path: Path) -> int | None:
    """Which file a path leads to now; None if there is none."""
    try:
        return path.stat().st_ino
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise errors.StoreReadOnly(
            f"{path} cannot be reached ({error.strerror}).", hint=f"Check the permissions of {path.parent}."
        ) from None


def make_folder(folder: Path) -> None:
    """A folder that only its owner can read, and so for those above it that were missing."""
    try:
        for part in reversed([part for part in folder.parents if not part.exists()]):
            part.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise errors.StoreReadOnly(
            f"the data folder {folder} cannot be made ({error.strerror}).",
            hint="Set MEMSWEEP_HOME to a folder that you can write.",
        ) from None


def _sync_names(folder: Path) -> None:
    """Onto the disk, so that a power cut leaves the names that are in the folder now.

    Like SQLite, without a word where that is refused: some file systems cannot sync a folder.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def make_file(path: Path) -> None:
    """An empty file that only its owner can read, if there is none; SQLite gives its side files the same mode.

    A file that is there is not opened: closing it would drop every lock that this process has on it.
    """
    try:
        with _making:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        for folder in path.parents[:3]:  # which may be new, whoever made them
            _sync_names(folder)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise errors.StoreFull(f"no space left for {path}.", hint="Free some space.") from None
        raise errors.StoreReadOnly(
            f"{path} cannot be written ({error.strerror}).", hint="Check the permissions."
        ) from None


_making = threading.Lock()  # no other thread may lock the file before it is closed
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


def connect(path: Path, migrations: Sequence[str], fill: Fill | None = None) -> apsw.Connection:
    """An open connection to an existing file, its schema brought up to date.

    A new file gets its schema and what `fill` writes in one transaction; without `fill` it must not be new.
    """
    if fill is None and _is_empty(path):
        raise _hollow(path)  # before SQLite opens it, which would throw away a log that is beside it
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return _connect_once(path, migrations, fill)
        except (apsw.BusyError, apsw.LockedError, apsw.CantOpenError, apsw.ReadOnlyError) as error:
            # While another process switches to WAL or recovers it, any of these may appear for a moment.
            patience = deadline if isinstance(error, apsw.BusyError | apsw.LockedError) else deadline - BUSY_SECONDS + 1
            if time.monotonic() > patience:
                raise
            time.sleep(0.02)


def _connect_once(path: Path, migrations: Sequence[str], fill: Fill | None) -> apsw.Connection:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=200)
    try:
        db.set_busy_timeout(int(BUSY_SECONDS * 1000))
        guard(db)
        if db.pragma("journal_mode") != "wal":
            db.pragma("journal_mode", "wal")
        db.execute(_PRAGMAS)
        mark.notice(db, path)  # before anything is written, which would be over the damaged log
        _migrate(db, path, migrations, fill)
    except BaseException:
        db.close()
        raise
    return db


def guard(db: apsw.Connection) -> None:
    """Make the function that our views use known, and run nothing that somebody else may have put into a schema.

    We have no triggers; a file that was made a workspace by an earlier version may have one.
    """
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    db.create_scalar_function("spread_script", _spread, 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)


def _spread(*values: Any) -> str:
    return spread_script(values[0])


def _migrate(db: apsw.Connection, path: Path, migrations: Sequence[str], fill: Fill | None) -> None:
    if _version(db, path, len(migrations)) == len(migrations):
        return
    with immediate(db):
        version = _version(db, path, len(migrations))
        if version == 0 and fill is None:
            raise _hollow(path)
        for migration in migrations[version:]:
            db.execute(migration)
        if version == 0 and fill is not None:
            fill(db)
        db.pragma("user_version", len(migrations))


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:
        return False  # SQLite will say what it is


def _hollow(path: Path) -> errors.StoreCorrupt:
    return errors.StoreCorrupt(
        f"{path} is empty: what was in it is gone; it was left as it is.",
        hint="Restore it from a backup, or delete the workspace.",
    )


def _version(db: apsw.Connection, path: Path, ours: int) -> int:
    version: int = db.pragma("user_version")
    if version > ours:
        raise errors.StoreTooNew(
            f"{path} was written by a newer memsweep (schema {version}, this one knows {ours}); it was left as it is.",
            hint="Upgrade memsweep.",
        )
    return version


@contextmanager
def immediate(db: apsw.Connection) -> Iterator[None]:
    """A write transaction: all of it or nothing."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        # On some errors SQLite has rolled back by itself.
        if db.in_transaction:
            db.execute("rollback")
        raise


@contextmanager
def snapshot(db: apsw.Connection) -> Iterator[None]:
    """A read transaction: every statement sees the same state, and no writer waits for it."""
    db.execute("begin")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("rollback")


class Lease:
    """A connection in use, with a transaction if there is a statement to begin it.

    What was written is kept only if nothing went wrong. A class, for the generators that it
    replaces took two to three times as long to enter and to leave, and a search does that five times.
    """

    __slots__ = ("_begin", "_db", "_keeps", "_pool")

    def __init__(self, pool: Pool, begin: str = "", *, keeps: bool = False) -> None:
        self._pool, self._begin, self._keeps = pool, begin, keeps

    def __enter__(self) -> apsw.Connection:
        pool = self._pool
        try:
            self._db = db = pool.take()
            if self._begin:
                try:
                    db.execute(self._begin)
                except BaseException:
                    pool.give_back(db)
                    raise
        except apsw.Error as error:
            raise _translate(error, pool.path) from error
        return db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        db = self._db
        damage = None
        try:
            try:
                if self._keeps and error is None:
                    db.execute("commit")
                    self._pool.keep_name_of_log(db)
                    self._pool.marker.note(db)
            finally:
                if db.in_transaction:  # on some errors SQLite has rolled back by itself
                    db.execute("rollback")
                if isinstance(error, suspects.SUSPECTS):
                    damage = suspects.explain(db, self._pool.path)
                if damage is None:
                    self._pool.give_back(db)
                else:  # the error still holds the cursor that stumbled, and with it a read transaction
                    db.close(True)
        except apsw.Error as failure:
            error = failure
        if damage is not None:
            raise damage from error
        if isinstance(error, apsw.Error):
            raise _translate(error, self._pool.path) from error


class Pool:
    """Connections to one file, one for each thread that works at the same time."""

    def __init__(self, path: Path, migrations: Sequence[str], fill: Fill | None = None) -> None:
        self.path = path
        self._migrations, self._fill = migrations, fill
        self._idle: deque[apsw.Connection] = deque()  # which threads may share
        self.marker = mark.Marker(path)
        self._named: WeakSet[apsw.Connection] = WeakSet()
        _pools.add(self)

    def take(self) -> apsw.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return connect(self.path, self._migrations, self._fill)

    def give_back(self, db: apsw.Connection) -> None:
        self._idle.append(db)

    def keep_name_of_log(self, db: apsw.Connection) -> None:
        """Sync the folder after the first commit of a connection.

        SQLite syncs the name of a log only for the connection that made it, which may be one that just reads.
        """
        if db not in self._named:
            _sync_names(self.path.parent)
            self._named.add(db)

    def connection(self) -> Lease:
        return Lease(self)

    def reading(self) -> Lease:
        """A read transaction: every statement sees the same state, and no writer waits for it."""
        return Lease(self, "begin")

    def writing(self) -> Lease:
        """A write transaction: all of it or nothing."""
        return Lease(self, "begin immediate", keeps=True)

    def leave_to_parent(self) -> None:
        """In a forked child: SQLite's locks did not come along, so what is open here must not be used.

        Closing is safe, for nothing is under way on an idle connection.
        """
        inherited, self._idle = list(self._idle), deque()
        self.marker = mark.Marker(self.path)  # the lock of the old one may be held by a thread that is not here
        for db in inherited:
            with suppress(apsw.Error):
                db.close()

    def close(self) -> None:
        self.marker.close()
        with plain_errors(self.path), suppress(IndexError):
            while True:
                self._idle.pop().close()


_pools: WeakSet[Pool] = WeakSet()


def _after_fork() -> None:
    for pool in list(_pools):
        pool.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def insert(db: apsw.Connection, statement: str, values: Sequence[Any] | dict[str, Any]) -> int:
    """Insert a row of a table with integer keys; its key. Quicker than `returning`."""
    db.execute(statement, values)
    return db.last_insert_rowid()


def row(db: apsw.Connection, statement: str, values: Sequence[Any] | dict[str, Any] = ()) -> Any:
    """The single row of a statement that always has one."""
    return db.execute(statement, values).fetchone()


def one(db: apsw.Connection, statement: str, values: Sequence[Any] | dict[str, Any] = ()) -> Any:
    """The single value of a single row, or None."""
    row = db.execute(statement, values).fetchone()
    return None if row is None else row[0]
