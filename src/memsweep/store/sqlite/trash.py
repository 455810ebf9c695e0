"""Apply: rows go to the trash. Inside the caller's transaction.

A row in the trash carries the number of the receipt that put it there. Its version does not change, so
that undoing gives back exactly what was there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

import apsw

from memsweep.model.plan import Receipt, Totals, counts_of
from memsweep.model.reach import unreachable
from memsweep.model.times import to_micros
from memsweep.store.file.connect import one, row
from memsweep.store.protocol import Check
from memsweep.store.sqlite import gc_sql, segments
from memsweep.store.stored import to_json


def apply(
    db: apsw.Connection,
    plan: int,
    plan_id: str,
    check: Check,
    kept: Mapping[int, str],
    *,
    uid: str,
    action: str,
    strategy: str,
    actor: str,
    now: datetime,
) -> Receipt:
    """Move what the plan names and is still as it was then, unless `check` objects; list the rest.

    `kept` are memories that stay all the same, and why.
    """
    receipt: int = one(db, gc_sql.ADD_RECEIPT, (uid, plan_id, action, strategy, actor, to_micros(now)))
    db.execute(gc_sql.MAKE_LISTS)
    db.execute(gc_sql.DOOM_MEMORIES, (plan,))
    db.execute(gc_sql.KEEP_MEMORIES, (json.dumps(list(kept)),))
    _check(db, gc_sql.COUNT_DOOMED, check, "memories")
    db.execute(gc_sql.DOOM_LONE_CHUNKS, (plan,))
    db.execute(gc_sql.DOOM_CHUNKS)
    db.execute(gc_sql.DOOM_PLANNED_RELATIONS, (plan,))  # before the entities: a relation that goes holds nothing
    db.execute(gc_sql.DOOM_UNSTATED_RELATIONS)
    _doom_entities(db, plan)
    db.execute(gc_sql.DOOM_RELATIONS)
    if strategy == "decayed":  # which takes no memories, and may still take most of what is known
        _check(db, gc_sql.COUNT_DOOMED_ENTITIES, check, "entities")
        _check(db, gc_sql.COUNT_DOOMED_RELATIONS, check, "relations")
    skipped = _skipped(db, plan, kept)
    totals = _move(db, receipt)
    if action == "clear":
        totals = replace(totals, segments=segments.clear(db, receipt))
    db.execute(gc_sql.FILL_RECEIPT, (to_json(counts_of(totals)), to_json(skipped), receipt))
    db.execute(gc_sql.USE_PLAN, (receipt, plan))
    return Receipt(uid, plan_id, strategy, totals, tuple(skipped), now)


def _check(db: apsw.Connection, count: str, check: Check, what: str) -> None:
    removed, of = row(db, count)
    check(removed, of, what)


def _doom_entities(db: apsw.Connection, plan: int) -> None:
    """Planned entities that nothing has come to hold meanwhile: no mention, and no way to anything that lives."""
    planned = [key for (key,) in db.execute(gc_sql.CANDIDATE_ENTITIES, (plan,))]
    if not planned:
        return
    keys = json.dumps(planned)
    inside = set(planned)
    held = {key for (key,) in db.execute(gc_sql.STILL_MENTIONED, (keys,))}
    edges = list(db.execute(gc_sql.EDGES_OF, {"keys": keys}))
    for left, right in edges:
        if left not in inside:
            held.add(right)
        elif right not in inside:
            held.add(left)
    held.update(end for ends in db.execute(gc_sql.SPARED_ENDS, (plan,)) for end in ends)
    dead = unreachable(planned, edges, held)
    db.executemany(gc_sql.DOOM_ENTITY, [(key,) for key in sorted(dead)])


def _skipped(db: apsw.Connection, plan: int, kept: Mapping[int, str]) -> list[tuple[str, str]]:
    return [
        (
            uid or f"{kind} {key}",
            _why_skipped(bool(live), bool(pinned), version == planned, kept.get(key, "") if kind == "memory" else ""),
        )
        for kind, key, planned, uid, version, pinned, live in db.execute(gc_sql.SKIPPED_ITEMS, (plan,))
    ]


def _why_skipped(live: bool, pinned: bool, same_version: bool, kept: str) -> str:
    if not live:
        return "gone since the plan was made"
    if pinned:
        return "pinned since the plan was made"
    if not same_version:
        return "changed since the plan was made"
    return kept or "in use again since the plan was made"


def _move(db: apsw.Connection, receipt: int) -> Totals:
    db.execute(gc_sql.UNINDEX_CHUNKS)
    db.execute(gc_sql.TRASH_MENTIONS_OF_CHUNKS, (receipt,))
    db.execute(gc_sql.TRASH_MENTIONS_OF_ENTITIES, (receipt,))
    counted = [
        _changed(db, statement, (receipt,))
        for statement in (
            gc_sql.TRASH_MEMORIES,
            gc_sql.TRASH_CHUNKS,
            gc_sql.TRASH_ENTITIES,
            gc_sql.TRASH_RELATIONS,
        )
    ]
    return Totals(*counted)


def _changed(db: apsw.Connection, statement: str, values: Iterable[object]) -> int:
    db.execute(statement, tuple(values))
    return db.changes()
