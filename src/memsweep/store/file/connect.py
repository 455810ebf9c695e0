"""Opening SQLite files, and saying in our words what SQLite refuses.

The order matters: the busy timeout first, WAL only where it is not on yet, the schema inside an
immediate transaction after another look at the version. The timeout does not cover the switch to WAL,
so opening is tried again until the timeout has passed.
"""

from __future__ import annotations

import errno
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import chain, count, repeat
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

import apsw

from memsweep import deadline, errors
from memsweep.errors import StoreCorrupt
from memsweep.forking import after_fork, new_lock, stores, torn_store
from memsweep.store.file import commit_marker
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.words import spread_script

SUSPECTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, apsw.SQLError, apsw.ConstraintError)
"""What code that reads sound rows does not raise; with damaged ones it may."""


def explain(db: apsw.Connection, path: Path) -> StoreCorrupt | None:
    """Return the damage in a file, if that may be why reading it failed."""
    from memsweep.store.file import values  # late: it knows every column, and hardly any file is damaged

    return values.explain(db, path)


Fill = Callable[[apsw.Connection], None]

BUSY_SECONDS = 60.0
_STEPS_BETWEEN_LOOKS = 200_000  # some 50 ms
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
        case apsw.InterruptError():
            return deadline.used_up()
        case apsw.FullError():
            return errors.StoreFull(f"no space left for {path}; nothing was changed.", hint="Free some space.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return errors.StoreReadOnly(f"{path} cannot be written.", hint="Check its permissions.")
        case apsw.CantOpenError() if _has_no_inode(path.parent):
            return errors.StoreFull(
                f"no room for another file in {path.parent}; nothing was changed.",
                hint="Remove files that you can spare.",
            )
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


def _has_no_inode(folder: Path) -> bool:
    """Return whether the file system has no more inodes, as one with very many small files."""
    if not hasattr(os, "statvfs"):
        return False
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_files > 0 and found.f_favail == 0


def exists(path: Path) -> bool:
    return inode(path) is not None


def inode(path: Path) -> int | None:
    """Return the inode that a path leads to now; None if there is none."""
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
        if error.errno in _NO_SPACE:
            raise errors.StoreFull(f"no space left for {folder}.", hint="Free some space.") from None
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


_making = new_lock()  # no other thread may lock the file before it is closed
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


def connect(path: Path, migrations: Sequence[str], fill: Fill | None = None) -> apsw.Connection:
    """An open connection to an existing file, its schema brought up to date.

    A new file gets its schema and what `fill` writes in one transaction; without `fill` it must not be new.
    """
    if fill is None and _is_empty(path):
        raise _hollow(path)  # before SQLite opens it, which would throw away a log that is beside it
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return _connect_once(path, migrations, fill)
        except (apsw.BusyError, apsw.LockedError, apsw.CantOpenError, apsw.ReadOnlyError) as error:
            # While another process switches to WAL or recovers it, any of these may appear for a moment.
            patience = until if isinstance(error, apsw.BusyError | apsw.LockedError) else until - BUSY_SECONDS + 1
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
        db.set_progress_handler(deadline.is_over, _STEPS_BETWEEN_LOOKS, id="deadline")
        commit_marker.notice(db, path)  # before anything is written, which would be over the damaged log
        _migrate(db, path, migrations, fill)
    except BaseException:
        db.close()
        raise
    _keeper.opened.add(db)
    return db


@contextmanager
def connected(path: Path, migrations: Sequence[str], fill: Fill | None = None) -> Iterator[apsw.Connection]:
    """A connection that is closed in the end, for one who must not share it."""
    with stores, closing(connect(path, migrations, fill)) as db:
        yield db


@contextmanager
def as_it_is(path: Path) -> Iterator[apsw.Connection]:
    """A connection to a file that may be damaged, or nothing of ours: nothing is set, checked or migrated."""
    with stores, closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        yield db


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

    __slots__ = ("_begin", "_db", "_has_turn", "_keeps", "_pool")

    def __init__(self, pool: Pool, begin: str = "", *, keeps: bool = False) -> None:
        self._pool, self._begin, self._keeps = pool, begin, keeps
        self._has_turn = False

    def __enter__(self) -> apsw.Connection:
        try:
            self._db = db = self._in_turn() if self._keeps else self._begun()
        except apsw.Error as error:
            raise _translate(error, self._pool.path) from error
        return db

    def _in_turn(self) -> apsw.Connection:
        """Writers of one file take turns, and who waits for another process has no connection in hand meanwhile.

        So a writer that stands still in one workspace is in the way neither of others nor of a fork. Inside of another
        lease there is no turn: whoever has it may be waiting for that lease.
        """
        turn, deadline = self._pool.turn, time.monotonic() + BUSY_SECONDS
        self._has_turn = not stores.is_mine and turn.acquire(timeout=BUSY_SECONDS)
        if not self._has_turn and not stores.is_mine:
            raise apsw.BusyError("another thread is writing")
        try:
            for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
                try:
                    return self._begun()
                except apsw.BusyError:
                    if time.monotonic() + pause > deadline:
                        raise
                time.sleep(pause)
        except BaseException:
            self._give_turn()
            raise
        raise AssertionError  # there is always another pause

    def _begun(self) -> apsw.Connection:
        with stores:
            db = self._pool.take()
            try:
                if self._keeps:
                    self._begin_at_once(db)
                elif self._begin:
                    db.execute(self._begin)
            except BaseException:
                self._pool.give_back(db)
                raise
            stores.__enter__()  # until the lease ends
        return db

    def _begin_at_once(self, db: apsw.Connection) -> None:
        db.set_busy_timeout(0)
        try:
            db.execute(self._begin)
        finally:
            db.set_busy_timeout(int(BUSY_SECONDS * 1000))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if stores.is_torn:  # it is the parent's
            if error is None:
                raise torn_store()
            return
        try:
            self._end(error)
        finally:
            stores.__exit__()
            self._give_turn()

    def _give_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._pool.turn.release()

    def _end(self, error: BaseException | None) -> None:
        db = self._db
        damage, is_sound = None, False
        try:
            try:
                if self._keeps and error is None:
                    db.execute("commit")
                    self._pool.keep_name_of_log(db)
                    self._pool.marker.note(db)
            finally:
                try:
                    if db.in_transaction:  # on some errors SQLite has rolled back by itself
                        db.execute("rollback")
                    if isinstance(error, SUSPECTS):
                        damage = explain(db, self._pool.path)
                    is_sound = damage is None
                finally:  # of a damaged one the error still holds the cursor that stumbled, in a read transaction
                    self._pool.give_back(db, to_close=not is_sound)
        except apsw.Error as failure:
            error = failure
        if damage is not None:
            raise damage from error
        if isinstance(error, apsw.Error):
            raise _translate(error, self._pool.path) from error


_PAUSES = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.025, 0.025, 0.05, 0.1)


class Kept(Protocol):
    """The memory that a process keeps of a file, as long as it has a connection to it."""

    def held_bytes(self) -> int: ...

    def let_go(self) -> None: ...


class Pool:
    """Connections to one file, one for each thread that works at the same time."""

    def __init__(self, path: Path, migrations: Sequence[str], fill: Fill | None = None) -> None:
        self.path = path
        self._migrations, self._fill = migrations, fill
        self.kept: Kept | None = None
        self._named: WeakSet[apsw.Connection] = WeakSet()
        self.turn = new_lock()
        self.begin_anew()
        _keeper.pools.add(self)

    def begin_anew(self) -> None:
        self.idle: deque[apsw.Connection] = deque()  # which threads may share
        self.in_use = self.used_at = 0
        self.marker = commit_marker.Marker(self.path)

    def take(self) -> apsw.Connection:
        deadline.refuse_if_over()
        return _keeper.reserve(self) or self._connect()

    def _connect(self) -> apsw.Connection:
        try:
            return connect(self.path, self._migrations, self._fill)
        except BaseException:
            _keeper.give_back(self)
            raise

    def give_back(self, db: apsw.Connection, *, to_close: bool = False) -> None:
        if to_close:
            db.close(True)
        _keeper.give_back(self, None if to_close else db)

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

    def close(self) -> None:
        with stores, plain_errors(self.path):
            for db in _keeper.take_all(self):
                db.close()


class ConnectionKeeper:
    """All connections of this process, to whatever files: no more than `most`, but for those in use.

    Where another one is needed, that of the file that was used longest ago is closed.
    """

    def __init__(self) -> None:
        self.most = most_connections(_descriptors())
        self.pools: WeakSet[Pool] = WeakSet()
        self.opened: WeakSet[apsw.Connection] = WeakSet()
        self._lock, self._uses = new_lock(), count(1)
        after_fork(self)

    def reserve(self, pool: Pool) -> apsw.Connection | None:
        """An idle connection of a file; None if there is none, and room for a new one."""
        with self._lock:
            pool.in_use += 1
            if pool.idle:
                return pool.idle.pop()
            self.most = most_connections(_descriptors())
            stores.most = max(4, self.most // 3)  # a thread may have a file and the registry, and need a third
            spare = self._spare()
        for db in spare:
            _close(db)
        return None

    def give_back(self, pool: Pool, db: apsw.Connection | None = None) -> None:
        with self._lock:
            pool.in_use -= 1
            pool.used_at = next(self._uses)
            if is_kept := db is not None and len(self.opened) <= self.most:
                pool.idle.append(db)
            _rest(pool)
        if db is not None and not is_kept:
            _close(db)

    def take_all(self, pool: Pool) -> list[apsw.Connection]:
        with self._lock:
            taken = list(pool.idle)
            pool.idle.clear()
            _rest(pool)
        return taken

    def _spare(self) -> list[apsw.Connection]:
        """Connections that make room for one more, of those files that were used longest ago."""
        resting = sorted((pool for pool in self.pools if pool.idle), key=lambda pool: -pool.used_at)
        held = sum(pool.kept.held_bytes() for pool in resting if pool.kept and not pool.in_use)
        spare: list[apsw.Connection] = []
        while resting and (len(self.opened) - len(spare) >= self.most or held > _MOST_BYTES):
            oldest = resting[-1]
            spare.append(oldest.idle.popleft())
            if not oldest.idle:
                resting.pop()
                held -= oldest.kept.held_bytes() if oldest.kept and not oldest.in_use else 0
                _rest(oldest)
        return spare

    def leave_to_parent(self, *, torn: bool) -> None:
        """Close what is idle, and leave the disk alone doing it. What is in the middle of something stays for good."""
        inherited = [db for pool in self.pools for db in pool.idle]
        for pool in self.pools:
            pool.begin_anew()
        if torn:
            import ctypes

            for db in self.opened:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))
            return
        for db in inherited:
            with suppress(apsw.Error):
                db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            _close(db)


def _rest(pool: Pool) -> None:
    """Let go of what is kept beside the connections of a file, once there are none."""
    if not pool.idle and not pool.in_use:
        pool.marker.close()
        if pool.kept is not None:
            pool.kept.let_go()


def _close(db: apsw.Connection) -> None:
    with suppress(apsw.Error):
        db.close(True)


def most_connections(descriptors: float) -> int:
    """Return how many connections fit into half of a process's descriptors; the first one of a file takes five."""
    return int(min(64, max(8, descriptors / 12)))


def _descriptors() -> float:
    try:
        import resource
    except ImportError:  # on Windows
        return float("inf")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return float("inf") if soft == resource.RLIM_INFINITY else soft


_MOST_BYTES = 256 * 2**20  # of vectors of files that nobody uses at the moment
_keeper = ConnectionKeeper()


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


def connect_new(path: Path, fill: Fill) -> apsw.Connection:
    """An open connection to an empty file that nobody else knows; it gets its schema and what `fill` writes at once."""
    with closing(apsw.Connection(":memory:")) as draft:
        draft.deserialize("main", _empty())
        fill(draft)
        db = connect(path, (), fill)
        try:
            with db.backup("main", draft, "main") as copying:
                copying.step()
        except BaseException:
            db.close()
            raise
    return db


@cache
def _empty() -> bytes:
    with closing(apsw.Connection(":memory:")) as db:
        guard(db)
        with immediate(db):
            for migration in WORKSPACE_MIGRATIONS:
                db.execute(migration)
            db.pragma("user_version", len(WORKSPACE_MIGRATIONS))
        return db.serialize("main")
