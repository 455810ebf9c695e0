"""Apply, undo, purge: rows go to the trash, come back, or leave for good. Inside the caller's transaction.

A row in the trash carries the number of the receipt that put it there. Its version does not change, so
that undoing gives back exactly what was there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any

import apsw

from memsweep.errors import Conflict, NotFound
from memsweep.model.ids import findable
from memsweep.model.merging import Contender, Held, after_purge, freed_with, settle
from memsweep.model.plan import Receipt, Totals, Undone, counts_of
from memsweep.model.reach import unreachable
from memsweep.model.times import from_micros, to_micros
from memsweep.store.file import meta_sql
from memsweep.store.file.connect import one, row
from memsweep.store.protocol import Check
from memsweep.store.sqlite import gc_sql, merging, segments, trash_sql
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


def undo(db: apsw.Connection, uid: str, edge_rate: float, now: datetime) -> Undone:
    """Everything of a receipt back, but for what has been made again meanwhile, and what a merge keeps.

    What a memory that comes back mentions or states comes with it, also if a later receipt took that:
    undoing two receipts gives the same in either order, and nothing that lives waits for a purge.
    """
    receipt = _usable_receipt(db, uid)
    db.execute(gc_sql.MAKE_LISTS)
    apart = merging.take_apart(db, receipt, edge_rate, now)
    memories, clashes = _restore_memories(db, receipt)
    chunks = _restore_chunks(db, receipt)
    db.execute(trash_sql.PICK_STATED_RELATIONS, {"receipt": receipt})
    entities, twins = _restore_entities(db, receipt)
    relations, left = _restore_relations(db, receipt, edge_rate, now)
    back, taken = segments.put_back(db, receipt)
    db.execute(trash_sql.SET_UNDONE, (to_micros(now), receipt))
    return Undone(Totals(memories, chunks, apart + entities, relations, back), (*clashes, *twins, *left, *taken))


def _usable_receipt(db: apsw.Connection, uid: str) -> int:
    found = row(db, gc_sql.GET_RECEIPT, (findable(uid),))
    if found is None:
        raise NotFound(f"receipt {uid!r:.60} does not exist in this workspace.", hint="list_trash shows the receipts.")
    *_, undone, purged = found
    if undone is not None:
        raise Conflict(f"receipt {uid} was undone already at {from_micros(undone):%Y-%m-%d %H:%M} UTC.")
    if purged is not None:
        raise Conflict(f"receipt {uid} was purged at {from_micros(purged):%Y-%m-%d %H:%M} UTC; it cannot be undone.")
    key: int = found[0]
    return key


def _restore_memories(db: apsw.Connection, receipt: int) -> tuple[int, list[tuple[str, str]]]:
    files: list[Any] = db.execute(trash_sql.CLASHING_FILES, (receipt,)).fetchall()
    texts: list[Any] = db.execute(trash_sql.CLASHING_TEXTS, (receipt,)).fetchall()
    conflicts = {mine: f"its file was indexed again as {theirs}" for _, mine, theirs in files}
    conflicts |= {mine: f"the same text was added again as {theirs}" for _, mine, theirs in texts}
    db.execute(trash_sql.PICK_MEMORIES, (receipt, json.dumps([key for key, *_ in (*files, *texts)])))
    return _changed(db, trash_sql.RESTORE_MEMORIES, ()), list(conflicts.items())


def _restore_chunks(db: apsw.Connection, receipt: int) -> int:
    db.execute(trash_sql.PICK_CHUNKS, (receipt,))
    db.execute(trash_sql.REINDEX_CHUNKS)
    return _changed(db, trash_sql.RESTORE_CHUNKS, ())


def _restore_entities(db: apsw.Connection, receipt: int) -> tuple[int, list[tuple[str, str]]]:
    """Entities and mentions; where an entity exists again under the same name, that one takes over."""
    db.execute(trash_sql.PICK_ENTITIES, {"receipt": receipt})
    conflicts = []
    for twins in (trash_sql.LIVE_TWINS, trash_sql.PICKED_TWINS):
        found: list[Any] = db.execute(twins).fetchall()
        for key, mine, twin, theirs in found:
            for statement in trash_sql.TAKE_OVER:
                db.execute(statement, {"entity": key, "twin": twin})
            conflicts.append((mine, f"it exists again as {theirs}, which has its mentions and relations now"))
    restored = _changed(db, trash_sql.RESTORE_ENTITIES, ())
    for statement in trash_sql.RESTORE_MENTIONS:
        db.execute(statement, {"receipt": receipt})
    return restored, conflicts


def _restore_relations(
    db: apsw.Connection, receipt: int, edge_rate: float, now: datetime
) -> tuple[int, list[tuple[str, str]]]:
    db.execute(trash_sql.PICK_RELATIONS, {"receipt": receipt})
    db.execute(trash_sql.UNPICK_RELATIONS)
    contenders = _contenders(db, receipt)
    settled = settle(contenders, receipt)
    staying = {each.key for each in contenders} - settled.back
    db.executemany(trash_sql.UNPICK_RELATION, [(key,) for key in staying])
    db.executemany(trash_sql.PUT_AWAY, [(each.merge, each.relation.key) for each in settled.put_away])
    restored = _changed(db, trash_sql.RESTORE_RELATIONS, ())
    conflicts = [(each.id, "the same relation exists again") for each in settled.clashing]
    for each in settled.put_away:
        if each.kept is not None:
            merging.join(db, each.merge, each.kept.key, each.relation.key, edge_rate, now)
        conflicts.append((each.relation.id, each.why(one(db, trash_sql.RECEIPT_ID, (each.merge,)))))
    waiting: list[Any] = db.execute(trash_sql.ENDS_IN_TRASH, (receipt,)).fetchall()
    conflicts += [(uid, f"an end of it is in the trash; undoing {other} brings both back") for uid, other in waiting]
    db.execute(trash_sql.HAND_ON_RELATIONS, {"receipt": receipt})
    return restored, conflicts


def _contenders(db: apsw.Connection, receipt: int) -> list[Contender]:
    rows: list[Any] = db.execute(trash_sql.CONTENDERS, {"receipt": receipt}).fetchall()
    moves = merging.moved_ends(db, [key for key, *_ in rows]) if rows else {}
    return [
        Contender(key, uid, subject, kind, target, bool(is_valid), held_by, moves.get(key, ()))
        for key, uid, subject, kind, target, is_valid, held_by in rows
    ]


def purge(db: apsw.Connection, before: datetime, now: datetime, only: str | None = None) -> tuple[list[str], Totals]:
    """Free what receipts up to a moment hold (or one receipt); the ids of those receipts, and the counts."""
    receipts: list[Any] = db.execute(trash_sql.OLD_RECEIPTS, {"before": to_micros(before), "only": only}).fetchall()
    freed = dict.fromkeys((*trash_sql.PURGE_COUNTED, "segments"), 0)
    db.executemany(trash_sql.SET_PURGED, [(to_micros(now), receipt) for receipt, *_ in receipts])
    numbers = {receipt for receipt, *_ in receipts}
    for receipt, _, plan in receipts:
        for statement in trash_sql.HAND_ON:
            db.execute(statement, {"receipt": receipt})
        _free_loops(db, receipt, numbers)
        _keep_put_away(db, receipt, numbers)
        for statement in trash_sql.PURGE_STEPS:
            db.execute(statement, {"receipt": receipt})
        for name, step in trash_sql.PURGE_COUNTED.items():
            freed[name] += _changed(db, step, (receipt,) * step.count("?"))
        freed["segments"] += segments.free(db, receipt)
        db.execute(trash_sql.DROP_PLAN_ITEMS, (plan,))
    if any(freed.values()):
        for statement in trash_sql.PURGE_LEFTOVERS:
            db.execute(statement)
    if freed["segments"]:
        segments.forget_words(db)
    if freed["chunks"]:
        db.execute(trash_sql.MERGE_WORDS)
        generation = one(db, meta_sql.GET_META, ("vector_generation",)) or 0
        db.execute(meta_sql.SET_META, ("vector_generation", generation + 1))
    return [uid for _, uid, _ in receipts], Totals(**freed)


def _free_loops(db: apsw.Connection, receipt: int, receipts: Collection[int]) -> None:
    """A merge that is final leaves no fact between those that are one, in whichever trash it waits."""
    rows: list[Any] = db.execute(trash_sql.LOOPS, {"receipt": receipt}).fetchall()
    if rows:
        moves = chain.from_iterable(merging.moved_ends(db, [key for key, *_ in rows]).values())
        freed = freed_with([Held(*item) for item in rows], moves, receipts)
        db.executemany(trash_sql.PUT_AWAY, [(receipt, key) for key in freed])


def _keep_put_away(db: apsw.Connection, receipt: int, receipts: Collection[int]) -> None:
    """What a merge put away goes with the merge, not with what else is freed."""
    rows: list[Any] = db.execute(trash_sql.PUT_AWAY_RELATIONS, {"receipt": receipt}).fetchall()
    if not rows:
        return
    held = [Held(*item) for item in rows]
    moves = chain.from_iterable(merging.moved_ends(db, [each.key for each in held]).values())
    dying = {key for (key,) in db.execute(trash_sql.DYING_ENTITIES, (receipt,))}
    after = after_purge(held, moves, receipts, dying)
    kept = [(each.subject, each.object, each.trash, each.key) for each in after.kept]
    db.executemany(trash_sql.KEEP_PUT_AWAY, kept)
    db.executemany(trash_sql.DROP_SOURCES, [(key,) for key in after.freed])
