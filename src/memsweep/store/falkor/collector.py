"""The collector's side of a workspace: transactions, and reads that each are one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from memsweep.model.audit import AuditEvent, AuditQuery, Trashed
from memsweep.model.stored import mapping
from memsweep.model.times import from_micros
from memsweep.store.audit_rows import event_of, wanted
from memsweep.store.falkor import disk, gc_cypher, trash_cypher
from memsweep.store.falkor.changes import FalkorChanges, FalkorReads
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.ports.collector import Collector
from memsweep.store.refusals import too_slow


class FalkorCollector(Collector):
    """Implements `memsweep.store.ports.collector.Collector`."""

    def __init__(self, graph: GraphHandle, vectors: VectorSet) -> None:
        self._graph = graph
        self._vectors = vectors

    @contextmanager
    def reading(self) -> Iterator[FalkorReads]:
        yield FalkorReads(self._graph)

    @contextmanager
    def changing(self, seconds: float | None = None) -> Iterator[FalkorChanges]:
        with self._graph.writing() as tx, nullcontext() if seconds is None else _within(seconds):
            changes = FalkorChanges(tx)
            yield changes
            dropped = changes.texts.dropped_chunks
            self._vectors.announce(tx.meta["generation"], tx.freed_chunks | dropped)
        if dropped:
            self._vectors.dismiss(tx.meta["generation"])

    def wipe(self, done: str, *, freed: bool = True) -> list[str]:
        """Take the vectors of what was freed out of the set, and all of it out of what the server has on its disk."""
        self._vectors.dismiss(self._graph.seen["generation"])
        return disk.rewrite(self._graph.link, self._graph.name) if freed else []

    def trashed(self, limit: int, offset: int, receipt_id: str | None = None) -> tuple[list[Trashed], int]:
        queries = (
            trash_cypher.TRASHED_MEMORIES,
            trash_cypher.TRASHED_ENTITY_KEYS,
            trash_cypher.TRASHED_LONE_CHUNKS,
            trash_cypher.TRASHED_SEGMENTS,
            trash_cypher.TRASHED_RELATIONS,
            trash_cypher.TRASHED_REVISIONS,
        )
        rows = [row for found in self._graph.ask_all(*((query, {}) for query in queries)) for row in found]
        keys = sorted({trash for _, _, trash in rows})
        receipts = {row[0]: row[1:] for row in self._graph.ask(trash_cypher.RECEIPTS, keys=keys)}
        if receipt_id is not None:
            receipts = {key: row for key, row in receipts.items() if row[0] == receipt_id}
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
        named = {
            (kind, key): (mapping(uid)["id"] if kind == "revision" else uid, name)
            for kind, each in zip(kinds, texts, strict=True)
            for key, uid, name, *_ in each
        }
        paths = {
            key: path for kind, each in zip(kinds, texts, strict=True) if kind == "memory" for key, *_, path in each
        }
        return [
            Trashed(
                kind,
                *named[kind, key],
                receipts[trash][0],
                receipts[trash][1],
                reasons.get((kind, key), receipts[trash][1]),
                from_micros(receipts[trash][2]),
                paths.get(key, "") if kind == "memory" else "",
            )
            for kind, key, trash in rows
            if (kind, key) in named
        ]

    def audit(self, limit: int, asked: AuditQuery) -> list[tuple[int, AuditEvent]]:
        query = gc_cypher.AUDIT if asked.subject is None else gc_cypher.AUDIT_OF
        rows = self._graph.ask(query, limit=limit, **wanted(asked))
        return [(key, event_of(from_micros(at), *said)) for key, at, *said in rows]


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Give up after so many seconds, before anything is changed."""
    deadline = time.monotonic() + seconds
    yield
    if time.monotonic() >= deadline:
        raise too_slow(seconds)
