"""The collector's side of a workspace: every method is one transaction."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from memsweep.errors import Conflict, NotFound, StoreBusy
from memsweep.model.audit import AuditEvent, Purged, Tombstone, Trashed
from memsweep.model.decay import Rates
from memsweep.model.ids import findable
from memsweep.model.plan import Kind, Plan, PlanItem, PlanView, Receipt, Survey, Totals, Undone, counts_of
from memsweep.model.times import from_micros, to_micros
from memsweep.store.falkor import (
    applying,
    gc_cypher,
    plans,
    purging,
    segments,
    surveying,
    trash_cypher,
    unmerging,
)
from memsweep.store.falkor.applying import Doomed
from memsweep.store.falkor.auditing import audit
from memsweep.store.falkor.changes import FalkorChanges
from memsweep.store.falkor.transaction import Change, Graph
from memsweep.store.falkor.undoing import Undo, usable_receipt
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.protocol import Check, Decide, Recheck

_FOUND: tuple[tuple[Kind, str], ...] = (
    ("memory", "Memory"),
    ("memory", "TrashedMemory"),
    ("entity", "Entity"),
    ("entity", "TrashedEntity"),
)


class FalkorCollector:
    """Implements `memsweep.store.protocol.Collector`."""

    def __init__(self, graph: Graph, vectors: VectorSet) -> None:
        self._graph = graph
        self._vectors = vectors

    @contextmanager
    def changing(self) -> Iterator[FalkorChanges]:
        with self._graph.writing() as tx:
            yield FalkorChanges(tx)

    def code_paths(self) -> list[tuple[int, str, str]]:
        return [(key, root, path) for key, root, path in self._graph.ask(gc_cypher.CODE_PATHS)]

    def memory_keys(self, ids: Sequence[str]) -> dict[str, int]:
        return dict(map(tuple, self._graph.ask(gc_cypher.MEMORY_KEYS, ids=list(ids))))

    def survey(self, needs: Collection[str], missing_files: Collection[int]) -> Survey:
        return surveying.at_one_moment(self._graph, lambda asked: surveying.survey(asked, needs, missing_files))

    def find(self, item_id: str) -> tuple[Kind, int, str | None] | None:
        wanted = findable(item_id)
        found = self._graph.ask_all(
            *((gc_cypher.of_label(gc_cypher.FIND, label), {"id": wanted}) for _, label in _FOUND)
        )
        for (kind, _), rows in zip(_FOUND, found, strict=True):
            for key, receipt in rows:
                return kind, key, receipt
        return None

    def describe(self, kind: Kind, key: int) -> PlanView:
        return plans.views(self._graph, [PlanItem(kind, key, 0, "")])[0]

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
        """Survey at one moment, decide, save. What changes in between is found out by the apply."""
        draft = decide(self.survey(needs, missing_files))
        with self._graph.writing() as tx:
            totals = applying.planned(tx, draft.items)
            _, plan = plans.save(tx, draft, plan_id, strategy, now, lifetime, totals)
            _note(tx, now, actor, "plan", plan_id, plan.totals, strategy)
        return plan

    def load_plan(self, plan_id: str) -> Plan:
        return plans.load(self._graph, plan_id)[1]

    def plan_items(self, plan_id: str, offset: int, limit: int) -> list[PlanView]:
        key, _, _ = plans.load(self._graph, plan_id)
        return plans.views(self._graph, plans.items(self._graph, key, offset, limit))

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
        with self._graph.writing() as tx, _within(seconds):
            key, plan, used = plans.load(tx, plan_id)
            if plan.strategy == plans.MERGE:
                raise Conflict(f"plan {plan_id} merges entities; merge_entities applies it.")
            plans.refuse_unusable(plan, used, now)
            items = plans.verified(plan, plans.items(tx, key))
            doomed = applying.doom(tx, items, check, plan.strategy, recheck(items) if recheck else {})
            return _apply(tx, doomed, (key, plan_id), receipt_id, "prune", plan.strategy, actor, now)[1]

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
        doomed = Doomed()
        with self._graph.writing() as tx, _within(seconds):
            draft = decide(surveying.survey(tx, needs, missing_files))
            totals = applying.planned(tx, draft.items)
            key, _ = plans.save(tx, draft, plan_id, strategy, now, timedelta(0), totals)
            doomed = applying.doom(tx, draft.items, check, strategy, recheck(draft.items) if recheck else {})
            number, receipt = _apply(tx, doomed, (key, plan_id), receipt_id, action, strategy, actor, now)
            if tombstone is not None:
                _bury(tx, doomed, number, (receipt_id, plan_id), tombstone, actor, now)
                self._vectors.announce(tx.meta["generation"], doomed.chunks)
        if tombstone is not None:
            self._vectors.dismiss(tx.meta["generation"])
        return receipt

    def undo(self, receipt_id: str, rates: Rates, *, actor: str, now: datetime) -> Undone:
        with self._graph.writing() as tx:
            key = usable_receipt(tx, receipt_id)
            apart = unmerging.take_apart(tx, key, rates.edge, now)
            undo = Undo(tx, key, rates.edge, now, apart=apart)
            totals = undo.run()
            back, taken = segments.put_back(tx, key)
            tx.do(trash_cypher.SET_UNDONE, [{"key": key, "at": to_micros(now)}])
            totals = Totals(totals.memories, totals.chunks, totals.entities, totals.relations, back)
            _note(tx, now, actor, "undo", receipt_id, totals, "")
            return Undone(totals, (*undo.conflicts, *taken))

    def recover(self, memory_id: str, rates: Rates, *, receipt_id: str, actor: str, now: datetime) -> Undone:
        """Bring one memory back, under a receipt of its own that is undone at once."""
        with self._graph.writing() as tx:
            found = tx.ask(trash_cypher.TRASHED_MEMORY, id=findable(memory_id))
            if not found:
                raise NotFound(f"memory {memory_id!r:.60} is not in the trash.", hint="list_trash shows what is.")
            key = tx.new_key()
            undo = Undo(tx, key, rates.edge, now, only_memory=found[0][0])
            totals = undo.run()
            if totals.memories == 0:
                raise Conflict(f"memory {memory_id} cannot come back: {undo.conflicts[0][1]}.")
            applying.add_receipt(
                tx, key, receipt_id, None, "recover", "recover", actor, now, {}, undone_at=to_micros(now)
            )
            _note(tx, now, actor, "recover", memory_id, totals, "")
            return Undone(totals, tuple(undo.conflicts))

    def trashed(self, limit: int, offset: int) -> tuple[list[Trashed], int]:
        queries = (
            trash_cypher.TRASHED_MEMORIES,
            trash_cypher.TRASHED_ENTITY_KEYS,
            trash_cypher.TRASHED_LONE_CHUNKS,
            trash_cypher.TRASHED_SEGMENTS,
            trash_cypher.TRASHED_RELATIONS,
        )
        rows = [row for found in self._graph.ask_all(*((query, {}) for query in queries)) for row in found]
        keys = sorted({trash for _, _, trash in rows})
        receipts = {row[0]: row[1:] for row in self._graph.ask(trash_cypher.RECEIPTS, keys=keys)}
        rows = [row for row in rows if row[2] in receipts]
        rows.sort(key=lambda row: row[1])
        rows.sort(key=lambda row: (receipts[row[2]][2], row[0]), reverse=True)
        return self._shown(rows[offset : offset + limit], receipts), len(rows)

    def _shown(self, rows: list[Any], receipts: dict[int, list[Any]]) -> list[Trashed]:
        kinds = sorted({kind for kind, _, _ in rows})
        asked = [(trash_cypher.SHOWN[kind], {"keys": [key for k, key, _ in rows if k == kind]}) for kind in kinds]
        items = [[receipts[trash][3], kind, key] for kind, key, trash in rows if receipts[trash][3] is not None]
        found, *texts = self._graph.ask_all((gc_cypher.REASONS, {"items": items}), *asked)
        reasons = {(kind, key): reason for kind, key, reason in found}
        named = {(kind, key): (uid, name) for kind, each in zip(kinds, texts, strict=True) for key, uid, name in each}
        return [
            Trashed(
                kind,
                *named[kind, key],
                receipts[trash][0],
                receipts[trash][1],
                reasons.get((kind, key), receipts[trash][1]),
                from_micros(receipts[trash][2]),
            )
            for kind, key, trash in rows
            if (kind, key) in named
        ]

    def purge(self, before: datetime, *, actor: str, now: datetime) -> Purged:
        """Free the trash of old receipts, so that nothing of it is left in the graph or beside it."""
        with self._graph.writing() as tx:
            rows = tx.ask(trash_cypher.OLD_RECEIPTS, before=to_micros(before))
            receipts = [key for key, *_ in rows]
            dying = purging.of_receipts(tx, receipts)
            places = tx.ask(trash_cypher.DYING_MEMORIES, receipts=receipts)
            totals = purging.free(tx, dying, receipts)
            purging.free_leftovers(tx, dying, places)
            freed = purging.free_segments(tx, receipts)
            purging.close(tx, [(key, plan) for key, _, plan in rows], now)
            for _, uid, _ in rows:
                _note(tx, now, actor, "purge", uid, None, "")
            self._vectors.announce(tx.meta["generation"], dying.chunks)
        self._vectors.dismiss(tx.meta["generation"])
        counts = (totals.memories, totals.chunks, totals.entities, totals.relations, freed)
        return Purged(tuple(uid for _, uid, _ in rows), *counts)

    def pin(self, item_id: str, pinned: bool, *, actor: str, now: datetime) -> str:
        """Pin or unpin a memory or an entity; which of them it was."""
        with self._graph.writing() as tx:
            for kind, label in (("memory", "Memory"), ("entity", "Entity")):
                if tx.ask(gc_cypher.of_label(gc_cypher.FIND, label), id=findable(item_id)):
                    tx.do(gc_cypher.of_label(gc_cypher.PIN, label), [{"id": item_id, "pinned": pinned}])
                    _note(tx, now, actor, "pin" if pinned else "unpin", item_id, None, "")
                    return kind
        raise NotFound(f"{item_id!r:.60} is neither a memory nor an entity of this workspace.")

    def audit(self, limit: int, subject: str | None = None) -> list[AuditEvent]:
        if subject is None:
            rows = self._graph.ask(gc_cypher.AUDIT, limit=limit)
        else:
            rows = self._graph.ask(gc_cypher.AUDIT_OF, limit=limit, subject=findable(subject))
        return [
            AuditEvent(from_micros(at), actor, action, item, json.loads(counts), reason)
            for at, actor, action, item, counts, reason in rows
        ]

    def tombstones(self) -> list[Tombstone]:
        rows = self._graph.ask(gc_cypher.TOMBSTONES)
        return [Tombstone(memory, from_micros(at), reason) for memory, at, reason in rows]

    def remove_tombstone(self, memory_id: str, *, actor: str, now: datetime) -> bool:
        with self._graph.writing() as tx:
            found = bool(tx.ask(gc_cypher.TOMBSTONE_OF, id=findable(memory_id)))
            if found:
                tx.do(gc_cypher.DROP_TOMBSTONE, [memory_id])
                tx.do(gc_cypher.DROP_SKIPS, [0])
                _note(tx, now, actor, "remove tombstone", memory_id, None, "")
            return found


def _apply(
    tx: Change,
    doomed: Doomed,
    plan: tuple[int, str],
    receipt_id: str,
    action: str,
    strategy: str,
    actor: str,
    now: datetime,
) -> tuple[int, Receipt]:
    number = tx.new_key()
    applying.move(tx, doomed, number)
    if action == "clear":
        doomed.segments = segments.clear(tx, number)
    receipt = applying.write_receipt(
        tx, doomed, number, plan, uid=receipt_id, action=action, strategy=strategy, actor=actor, now=now
    )
    _note(tx, now, actor, action, receipt_id, receipt.totals, strategy)
    for item, reason in receipt.skipped:
        _note(tx, now, actor, "skip", item, None, reason)
    return number, receipt


def _bury(
    tx: Change, doomed: Doomed, number: int, names: tuple[str, str], reason: str, actor: str, now: datetime
) -> None:
    """Free what this transaction has moved, and leave a hash of it."""
    keys = sorted(doomed.memories)
    hashes, places = tx.ask_all((gc_cypher.HASHES, {"keys": keys}), (trash_cypher.THREADS_AND_ROOTS, {"keys": keys}))
    rows = [{"hash": digest, "at": to_micros(now), "memory": uid, "reason": reason} for uid, digest in hashes]
    tx.do(gc_cypher.BURY, rows)
    purging.free(tx, doomed, [number], live=True)
    purging.free_leftovers(tx, doomed, places)
    purging.close(tx, [(number, names[1])], now)
    _note(tx, now, actor, "purge", names[0], None, "")


def _note(tx: Change, now: datetime, actor: str, action: str, subject: str, totals: Totals | None, reason: str) -> None:
    counts = {} if totals is None else counts_of(totals, segments=True)
    audit(tx, now, actor, action, subject, counts, reason)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Give up after so many seconds, before anything is changed."""
    deadline = time.monotonic() + seconds
    yield
    if time.monotonic() >= deadline:
        raise StoreBusy(
            f"the collection took longer than {seconds:g} s and was stopped; nothing was changed.",
            hint="Collect less at once, or raise gc.apply_seconds in the settings.",
        )
