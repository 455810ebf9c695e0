"""Write down what is about to be done to workspace files, so that a process that dies leaves nothing behind.

An intent is a row of the registry: a file, and what has to be done to it unless its owner gets any further. The owner
is one operation of one process. It holds a lock of its own until it is done, and the system lets go of that lock when
the process ends, however it does; so nobody has to guess from a process id or from a time whether it is still at work.
The next process that opens the registry finishes what dead owners have left.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from memsweep.errors import StoreCorrupt, StoreError, StoreReadOnly
from memsweep.store.drafts import sync
from memsweep.store.file import schema
from memsweep.store.file.connect import Pool, connected, exists, immediate, make_folder, one, plain_errors
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.sqlite import registry_sql
from memsweep.store.workspaces import from_fields, to_fields, to_text

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from memsweep.model.audit import AuditEvent

REMOVE = "remove"
MARK = "mark"
_LOCK_SECONDS = 5.0
_ALL = (1 << 63) - 1
_OWNER = _STEM = re.compile(r"[0-9a-f]{16}")


class Intents:
    """The intents of one home."""

    def __init__(self, registry: Callable[[], Pool], folder: Path) -> None:
        self._registry = registry
        self._folder = folder
        self._locks = folder.parent / "locks" / "workspaces"

    @contextlib.contextmanager
    def owner(self) -> Iterator[str]:
        """A name to note intents under; as long as it is held, nobody else touches them."""
        make_folder(self._locks)
        name = os.urandom(8).hex()
        lock = self._lock(name)
        with _lock_errors(self._locks):
            lock.acquire(timeout=_LOCK_SECONDS)  # who cleans up may have the new file in hand for a moment
        try:
            yield name
        finally:
            self._let_go(lock)

    def note(self, db: apsw.Connection, file: str, action: str, owner: str) -> None:
        """Write an intent down, inside the caller's transaction."""
        db.execute(registry_sql.NOTE_INTENT, (file, action, owner))

    def note_event(self, db: apsw.Connection, file: str, event: AuditEvent | None) -> None:
        """Have the audit log of a file say something when the file is settled, inside the caller's transaction."""
        if event is not None:
            db.execute(registry_sql.NOTE_EVENT, (file, to_text(event)))

    def pending(self, db: apsw.Connection) -> set[str]:
        """Files that somebody is at work on."""
        rows: Any = db.execute(registry_sql.INTENTS)
        return {file for file, *_ in rows}

    def finish(self) -> None:
        """Do what processes that have ended left undone. What cannot be done now waits for the next time."""
        with self._registry().connection() as db:
            owners = {owner for _, _, owner in db.execute(registry_sql.INTENTS)}
        for owner in sorted(owners | {lock.stem for lock in self._locks.glob("*.lock")}):
            with contextlib.suppress(StoreError), self._if_dead(owner) as is_dead:
                if is_dead:
                    self._finish(owner)

    def settle(self, file: str) -> None:
        """Let a file and its audit log say what the registry says of it, and let go of the intent."""
        try:
            with plain_errors(self._folder / file), _writing(self._folder / file) as db:
                marked_at, events = self._said_of(file)  # under the lock of the file: the last to mark knows best
                if marked_at is None:
                    db.execute(schema.UNMARK)
                else:
                    db.execute(schema.SET_META, ("deleted_at", marked_at))
                # Once: who wrote it last may have died before the registry was told.
                db.executemany(registry_sql.ADD_AUDIT_ONCE, [to_fields(event) for event in events.values() if event])
        except StoreCorrupt:  # which is the doctor's
            self._done((registry_sql.DROP_EVENTS, (file, _ALL)), (registry_sql.DROP_INTENT, (file, MARK)))
            return
        self._done(
            (registry_sql.DROP_EVENTS, (file, max(events, default=0))),
            (registry_sql.SETTLE_INTENT, {"file": file, "marked_at": marked_at}),
        )

    def remove(self, file: str) -> None:
        """Remove a file with everything beside it, for good, and let go of the intent."""
        stem = Path(file).stem
        try:
            for path in self._folder.iterdir() if _STEM.fullmatch(stem) else ():
                if path.name.removeprefix(".").startswith(f"{stem}."):
                    path.unlink(missing_ok=True)
            sync(self._folder)  # or a power cut could bring it back when nobody remembers that it had to go
        except OSError as error:
            raise StoreReadOnly(
                f"{self._folder / file} cannot be removed ({error.strerror}); nothing leads to it any more.",
                hint="Check the permissions; the next command tries again.",
            ) from None
        with contextlib.suppress(StoreError):  # the file is gone; the next start finds nothing to do but this
            self._done((registry_sql.DROP_INTENT, (file, REMOVE)))

    def take_back(self, file: str, owner: str) -> None:
        """Remove a file after an error, unless the registry leads to it. What cannot be done now, the next start does.

        A commit that could not be synced may still be found in the log by whoever opens the registry next. The one
        made here takes its place, so nothing is removed before that has been kept.
        """
        with contextlib.suppress(StoreError):
            with self._registry().writing() as db:
                if one(db, registry_sql.IS_FILE_KNOWN, (file,)):
                    return
                db.execute(
                    registry_sql.DROP_INTENT, (file, REMOVE)
                )  # what is only written over as it was makes no commit
                self.note(db, file, REMOVE, owner)
            self.remove(file)

    def _finish(self, owner: str) -> None:
        with self._registry().connection() as db:
            left: list[Any] = db.execute(registry_sql.INTENTS_OF, (owner,)).fetchall()
        for file, action, is_known in left:
            if action == REMOVE and not is_known:  # the registry knows no file that may be removed
                self.take_back(file, owner)
            else:
                self._done((registry_sql.MARK_INSTEAD, (file,)))
                self.settle(file)

    @contextlib.contextmanager
    def _if_dead(self, owner: str) -> Iterator[bool]:
        """Yield whether the owner has ended; if so, nobody else finishes its work meanwhile."""
        from filelock import Timeout

        if not _OWNER.fullmatch(owner):
            yield True
            return
        make_folder(self._locks)
        lock = self._lock(owner)
        try:
            with _lock_errors(self._locks):
                lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            self._let_go(lock)

    def _lock(self, owner: str) -> BaseFileLock:
        from filelock import FileLock

        return FileLock(self._locks / f"{owner}.lock", mode=0o600)

    def _let_go(self, lock: BaseFileLock) -> None:
        """The name is never used again, so its file goes; whoever has it open yet finds no intent of that name."""
        with contextlib.suppress(OSError):
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()

    def _said_of(self, file: str) -> tuple[int | None, dict[int, AuditEvent | None]]:
        """When it was deleted, and what its audit log has yet to say; at one moment."""
        with self._registry().reading() as db:
            deleted_at: int | None = one(db, registry_sql.DELETED_AT, (file,))
            rows: list[Any] = db.execute(registry_sql.PENDING_EVENTS, (file,)).fetchall()
            return deleted_at, {key: from_fields(json.loads(event)) for key, event in rows}

    def _done(self, *statements: tuple[str, Any]) -> None:
        with self._registry().writing() as db:
            for statement, values in statements:
                db.execute(statement, values)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[apsw.Connection]:
    if not exists(path):
        raise StoreCorrupt(f"{path} is missing.")
    with connected(path, WORKSPACE_MIGRATIONS) as db, immediate(db):
        yield db


@contextlib.contextmanager
def _lock_errors(folder: Path) -> Iterator[None]:
    from filelock import Timeout

    try:
        yield
    except Timeout:  # which is an OSError as well
        raise
    except OSError as error:
        raise StoreReadOnly(f"{folder} cannot be written ({error.strerror}).", hint="Check its permissions.") from None
