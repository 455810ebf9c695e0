"""The collector's side of a workspace: every method is one transaction."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import apsw

from memsweep.errors import Conflict, NotFound, StoreBusy, StoreError
from memsweep.model.audit import AuditEvent, Purged, Tombstone, Trashed
from memsweep.model.decay import Rates
from memsweep.model.ids import findable
from memsweep.model.plan import Kind, Plan, PlanView, Receipt, Survey, Totals, Undone, counts_of
from memsweep.model.times import from_micros, to_micros
from memsweep.store.file import aside, meta_sql
from memsweep.store.file.connect import Pool, one, row
from memsweep.store.paused import gc_paused
from memsweep.store.protocol import Check, Decide, Recheck
from memsweep.store.sqlite import gc_sql, plans, surveying, trash, trash_sql
from memsweep.store.sqlite.changes import SqliteChanges
from memsweep.store.sqlite.vectors import VectorIndex
from memsweep.store.stored import expect, expect_or_null, mapping, to_json

_STEPS_BETWEEN_LOOKS = 100_000


class SqliteCollector:
    """Implements `memsweep.store.protocol.Collector`."""

    def __init__(self, pool: Pool, vectors: VectorIndex) -> None:
        self._pool = pool
        self._vectors = vectors

    @contextmanager
    def changing(self) -> Iterator[SqliteChanges]:
        with self._pool.writing() as db:
            yield SqliteChanges(db)

    def code_paths(self) -> list[tuple[int, str, str]]:
        with self._pool.reading() as db:
            return surveying.code_paths(db)

    def memory_keys(self, ids: Sequence[str]) -> dict[str, int]:
        with self._pool.reading() as db:
            return surveying.memory_keys(db, ids)

    def survey(self, needs: Collection[str], missing_files: Collection[int]) -> Survey:
        with self._pool.reading() as db:
            return surveying.survey(db, needs, missing_files)

    def find(self, item_id: str) -> tuple[Kind, int, str | None] | None:
        """The kind and the key of a memory or an entity, and the receipt that holds it if it is in the trash."""
        with self._pool.reading() as db:
            found: tuple[Kind, int, str | None] | None = row(db, gc_sql.FIND_ANYTHING, {"id": findable(item_id)})
            return found

    def describe(self, kind: Kind, key: int) -> PlanView:
        with self._pool.reading() as db:
            return plans.describe(db, kind, key, "", {})

    def plan(
        self,
        decide: Decide,
        needs: Collection[str],
        missing_files: Collection[int],
        *,
        plan_id: str,
        strategy: str,
        actor: str,
        now: datetime,
        lifetime: timedelta,
    ) -> Plan:
        """Survey in a snapshot, decide, save. What changes in between is found out by the apply."""
        with gc_paused():
            draft = decide(self.survey(needs, missing_files))
        with self._pool.writing() as db:
            plan = plans.save(db, draft, plan_id, strategy, now, lifetime)
            _audit(db, now, actor, "plan", plan_id, plan.totals, strategy)
        return plan

    def load_plan(self, plan_id: str) -> Plan:
        with self._pool.reading() as db:
            return plans.load(db, plan_id)[1]

    def plan_items(self, plan_id: str, offset: int, limit: int) -> list[PlanView]:
        with self._pool.reading() as db:
            return plans.views(db, plans.load(db, plan_id)[0], offset, limit)

    def apply(
        self,
        plan_id: str,
        check: Check,
        *,
        receipt_id: str,
        actor: str,
        now: datetime,
        seconds: float,
        recheck: Recheck | None = None,
    ) -> Receipt:
        """Apply a saved plan, once, if `check` does not object."""
        with self._pool.writing() as db, _within(db, seconds):
            key, plan, used = plans.load(db, plan_id)
            if plan.strategy == plans.MERGE:
                raise Conflict(f"plan {plan_id} merges entities; merge_entities applies it.")
            plans.refuse_unusable(plan, used, now)
            items = plans.verify(db, key, plan)
            return self._apply(db, key, plan, check, receipt_id, "prune", actor, now, recheck(items) if recheck else {})

    def plan_and_apply(
        self,
        decide: Decide,
        needs: Collection[str],
        missing_files: Collection[int],
        check: Check,
        *,
        plan_id: str,
        receipt_id: str,
        action: str,
        strategy: str,
        actor: str,
        now: datetime,
        seconds: float,
        tombstone: str | None = None,
        recheck: Recheck | None = None,
    ) -> Receipt:
        """Survey, decide and apply in one transaction: nothing can change in between. A tombstone frees it, too."""
        with self._pool.writing() as db, _within(db, seconds):
            with gc_paused():
                draft = decide(surveying.survey(db, needs, missing_files))
            plan = plans.save(db, draft, plan_id, strategy, now, timedelta(0))
            kept = recheck(draft.items) if recheck else {}
            receipt = self._apply(db, plans.load(db, plan_id)[0], plan, check, receipt_id, action, actor, now, kept)
            if tombstone is not None:
                db.execute(trash_sql.BURY, {"receipt": receipt_id, "at": to_micros(now), "reason": tombstone})
                self._purge(db, now, actor, now, receipt_id)
        if tombstone is not None:
            self._wipe("the memory is deleted for good")
        return receipt

    def _apply(
        self,
        db: apsw.Connection,
        key: int,
        plan: Plan,
        check: Check,
        receipt_id: str,
        action: str,
        actor: str,
        now: datetime,
        kept: Mapping[int, str],
    ) -> Receipt:
        receipt = trash.apply(
            db, key, plan.id, check, kept, uid=receipt_id, action=action, strategy=plan.strategy, actor=actor, now=now
        )
        _audit(db, now, actor, action, receipt_id, receipt.totals, plan.strategy)
        for item, reason in receipt.skipped:
            _audit(db, now, actor, "skip", item, None, reason)
        return receipt

    def undo(self, receipt_id: str, rates: Rates, *, actor: str, now: datetime) -> Undone:
        with self._pool.writing() as db:
            undone = trash.undo(db, receipt_id, rates.edge, now)
            _audit(db, now, actor, "undo", receipt_id, undone.totals, "")
            return undone

    def recover(self, memory_id: str, rates: Rates, *, receipt_id: str, actor: str, now: datetime) -> Undone:
        """Bring one memory back: it is split off into a receipt of its own, which is then undone."""
        with self._pool.writing() as db:
            found = row(db, trash_sql.TRASHED_MEMORY, (findable(memory_id),))
            if found is None:
                raise NotFound(f"memory {memory_id!r:.60} is not in the trash.", hint="list_trash shows what is.")
            key, old, _ = found
            new = one(db, gc_sql.ADD_RECEIPT, (receipt_id, None, "recover", "recover", actor, to_micros(now)))
            for statement in trash_sql.SPLIT_OFF:
                db.execute(statement, {"memory": key, "old": old, "new": new})
            undone = trash.undo(db, receipt_id, rates.edge, now)
            if undone.totals.memories == 0:
                raise Conflict(f"memory {memory_id} cannot come back: {undone.conflicts[0][1]}.")
            _audit(db, now, actor, "recover", memory_id, undone.totals, "")
            return undone

    def trashed(self, limit: int, offset: int) -> tuple[list[Trashed], int]:
        with self._pool.reading() as db:
            rows: list[Any] = db.execute(trash_sql.TRASH_LIST, (limit, offset)).fetchall()
            return [_trashed(db, item) for item in rows], one(db, trash_sql.TRASH_COUNT)

    def purge(self, before: datetime, *, actor: str, now: datetime) -> Purged:
        """Free the trash of old receipts, so that nothing of it is left in the file or beside it."""
        with self._pool.writing() as db:
            purged = self._purge(db, before, actor, now)
        self._wipe(
            "the trash is freed"
        )  # even if there was nothing to free: an earlier purge may have been cut short here
        return purged

    def _purge(
        self, db: apsw.Connection, before: datetime, actor: str, now: datetime, only: str | None = None
    ) -> Purged:
        receipts, totals = trash.purge(db, before, now, only)
        for uid in receipts:
            _audit(db, now, actor, "purge", uid, None, "")
        return Purged(
            tuple(receipts), totals.memories, totals.chunks, totals.entities, totals.relations, totals.segments
        )

    def _wipe(self, done: str) -> None:
        """What was freed is zeroed in the pages of the file; the log and the vector files still have it.

        The transaction has ended by now, so an error must say first what was `done`.
        """
        kept = [*self._vectors.forget(), *aside.remove_all(self._pool.path)]
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

    def pin(self, item_id: str, pinned: bool, *, actor: str, now: datetime) -> str:
        """Pin or unpin a memory or an entity; which of them it was."""
        with self._pool.writing() as db:
            for kind, statement in (("memory", trash_sql.PIN_MEMORY), ("entity", trash_sql.PIN_ENTITY)):
                db.execute(statement, (pinned, findable(item_id)))
                if db.changes():
                    _audit(db, now, actor, "pin" if pinned else "unpin", item_id, None, "")
                    return kind
        raise NotFound(f"{item_id!r:.60} is neither a memory nor an entity of this workspace.")

    def audit(self, limit: int, subject: str | None = None) -> list[AuditEvent]:
        with self._pool.reading() as db:
            about = None if subject is None else findable(subject)
            rows: list[Any] = db.execute(trash_sql.AUDIT, {"subject": about, "limit": limit}).fetchall()
            return [_event(found) for found in rows]

    def tombstones(self) -> list[Tombstone]:
        with self._pool.reading() as db:
            rows: list[Any] = db.execute(trash_sql.TOMBSTONES).fetchall()
            return [_tombstone(found) for found in rows]

    def remove_tombstone(self, memory_id: str, *, actor: str, now: datetime) -> bool:
        with self._pool.writing() as db:
            found = one(db, trash_sql.DROP_TOMBSTONE, (findable(memory_id),)) is not None
            if found:
                db.execute(trash_sql.DROP_SKIPS)
                _audit(db, now, actor, "remove tombstone", memory_id, None, "")
            return found


def buried(db: apsw.Connection, hashes: Sequence[bytes]) -> set[bytes]:
    """Which of these contents have a tombstone."""
    rows: list[Any] = db.execute(trash_sql.BURIED, (json.dumps([digest.hex() for digest in hashes]),)).fetchall()
    return {digest for (digest,) in rows}


def _audit(
    db: apsw.Connection, now: datetime, actor: str, action: str, subject: str, totals: Totals | None, reason: str
) -> None:
    counts = to_json({} if totals is None else counts_of(totals, segments=True))
    db.execute(meta_sql.ADD_AUDIT, (to_micros(now), actor, action, subject, counts, reason))


def _event(found: tuple[Any, ...]) -> AuditEvent:
    at, actor, action, item, counts, reason = found
    expect(str, actor, action, item, reason)
    return AuditEvent(from_micros(at), actor, action, item, mapping(counts), reason)


def _tombstone(found: tuple[Any, ...]) -> Tombstone:
    memory, at, reason = found
    expect(str, memory, reason)
    return Tombstone(memory, from_micros(at), reason)


def _trashed(db: apsw.Connection, item: tuple[Any, ...]) -> Trashed:
    kind, uid, name, receipt, strategy, at, plan, key = item
    expect(str, uid, receipt, strategy)
    expect_or_null(str, name)
    reason = one(db, trash_sql.REASON_OF, (plan, kind, key)) or strategy
    return Trashed(kind, uid, name, receipt, strategy, reason, from_micros(at))


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
        raise StoreBusy(
            f"the collection took longer than {seconds:g} s and was stopped; nothing was changed.",
            hint="Collect less at once, or raise gc.apply_seconds in the settings.",
        ) from None
    finally:
        db.set_progress_handler(None)
