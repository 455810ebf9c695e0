"""The collector's side of a workspace: transactions, and reads that each are one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import apsw

from memsweep.errors import StoreBusy, StoreError
from memsweep.model.audit import AuditEvent, AuditQuery, Trashed
from memsweep.model.ids import findable
from memsweep.model.stored import expect, expect_or_null
from memsweep.model.times import from_micros
from memsweep.store.audit_rows import event_of, wanted
from memsweep.store.file import commit_marker
from memsweep.store.file.connect import Pool, one
from memsweep.store.ports.collector import Collector
from memsweep.store.refusals import too_slow
from memsweep.store.sqlite import trash_sql
from memsweep.store.sqlite.changes import SqliteChanges, SqliteReads
from memsweep.store.sqlite.vectors import VectorIndex

_STEPS_BETWEEN_LOOKS = 100_000


class SqliteCollector(Collector):
    """Implements `memsweep.store.ports.collector.Collector`."""

    def __init__(self, pool: Pool, vectors: VectorIndex) -> None:
        self._pool = pool
        self._vectors = vectors

    @contextmanager
    def reading(self) -> Iterator[SqliteReads]:
        with self._pool.reading() as db:
            yield SqliteReads(db)

    @contextmanager
    def changing(self, seconds: float | None = None) -> Iterator[SqliteChanges]:
        with self._pool.writing() as db, nullcontext() if seconds is None else _within(db, seconds):
            yield SqliteChanges(db)

    def trashed(self, limit: int, offset: int, receipt_id: str | None = None) -> tuple[list[Trashed], int]:
        of = {"receipt": None if receipt_id is None else findable(receipt_id)}
        count = trash_sql.TRASH_COUNT if receipt_id is None else trash_sql.COUNT_OF_RECEIPT
        with self._pool.reading() as db:
            rows: list[Any] = db.execute(trash_sql.TRASH_LIST, {**of, "limit": limit, "offset": offset}).fetchall()
            return [_trashed(db, item) for item in rows], one(db, count, of if receipt_id is not None else ())

    def wipe(self, done: str, *, freed: bool = True) -> list[str]:
        """Zero what was freed in the pages of the file; the log and the vector files still have it.

        The transaction has ended by now, so an error must say first what was `done`.
        """
        kept = [*self._vectors.forget(), *commit_marker.remove_all(self._pool.path)]
        try:
            with self._pool.connection() as db:
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except StoreBusy:
            raise StoreBusy(
                f"{done}, but another process holds on to {self._pool.path}-wal, which still has it.",
                hint="Purge again when that process has ended.",
            ) from None
        except StoreError as error:
            raise type(error)(
                f"{done}, but {self._pool.path}-wal may still have it ({error.__cause__ or error.message}).",
                hint="Run `memsweep compact` when the disk works again.",
            ) from error
        if kept:
            raise StoreError(
                f"{done}, but {kept[0]} may still have something of it and cannot be removed.",
                hint="Remove that file, or run `memsweep compact` when the folder can be written.",
            )
        return []

    def audit(self, limit: int, asked: AuditQuery) -> list[tuple[int, AuditEvent]]:
        with self._pool.reading() as db:
            rows: list[Any] = db.execute(trash_sql.AUDIT, {**wanted(asked), "limit": limit}).fetchall()
            return [(key, _event(*event)) for key, *event in rows]


def _event(at: int, actor: str, action: str, subject: str, counts: str, reason: str) -> AuditEvent:
    expect(str, actor, action, subject, reason)
    return event_of(from_micros(at), actor, action, subject, counts, reason)


def _trashed(db: apsw.Connection, item: tuple[Any, ...]) -> Trashed:
    kind, uid, name, receipt, strategy, at, plan, key, path = item
    expect(str, uid, receipt, strategy, path)
    expect_or_null(str, name)
    reason = one(db, trash_sql.REASON_OF, (plan, kind, key)) or strategy
    return Trashed(kind, uid, name, receipt, strategy, reason, from_micros(at), path)


@contextmanager
def _within(db: apsw.Connection, seconds: float) -> Iterator[None]:
    """Give up after so many seconds, inside a transaction that is then rolled back."""
    deadline = time.monotonic() + seconds
    db.set_progress_handler(lambda: time.monotonic() >= deadline, _STEPS_BETWEEN_LOOKS)
    try:
        yield
        if time.monotonic() >= deadline:
            raise apsw.InterruptError
    except apsw.InterruptError:
        raise too_slow(seconds) from None
    finally:
        db.set_progress_handler(None)
