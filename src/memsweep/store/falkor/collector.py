"""The collector's side of a workspace: transactions, and reads that each are one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any

from memsweep.errors import Conflict, NotFound
from memsweep.model.audit import AuditEvent, Purged, Tombstone, Trashed
from memsweep.model.decay import Rates
from memsweep.model.ids import findable
from memsweep.model.plan import Totals, Undone, counts_of
from memsweep.model.times import from_micros, to_micros
from memsweep.store.deadline import too_slow
from memsweep.store.falkor import applying, gc_cypher, purging, segments, trash_cypher, unmerging
from memsweep.store.falkor.auditing import audit
from memsweep.store.falkor.changes import FalkorChanges, FalkorReads
from memsweep.store.falkor.transaction import Change, Graph
from memsweep.store.falkor.undoing import Undo, usable_receipt
from memsweep.store.falkor.vectors import VectorSet


class FalkorCollector:
    """Implements `memsweep.store.protocol.Collector`."""

    def __init__(self, graph: Graph, vectors: VectorSet) -> None:
        self._graph = graph
        self._vectors = vectors

    @contextmanager
    def reading(self) -> Iterator[FalkorReads]:
        yield FalkorReads(self._graph)

    @contextmanager
    def changing(self, seconds: float | None = None) -> Iterator[FalkorChanges]:
        with self._graph.writing() as tx, nullcontext() if seconds is None else _within(seconds):
            yield FalkorChanges(tx, self._vectors)

    def code_paths(self) -> list[tuple[int, str, str]]:
        return [(key, root, path) for key, root, path in self._graph.ask(gc_cypher.CODE_PATHS)]

    def memory_keys(self, ids: Sequence[str]) -> dict[str, int]:
        return dict(map(tuple, self._graph.ask(gc_cypher.MEMORY_KEYS, ids=list(ids))))

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

    def wipe(self, done: str) -> None:
        self._vectors.dismiss(self._graph.seen["generation"])

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


def _note(tx: Change, now: datetime, actor: str, action: str, subject: str, totals: Totals | None, reason: str) -> None:
    counts = {} if totals is None else counts_of(totals, segments=True)
    audit(tx, now, actor, action, subject, counts, reason)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Give up after so many seconds, before anything is changed."""
    deadline = time.monotonic() + seconds
    yield
    if time.monotonic() >= deadline:
        raise too_slow(seconds)
