"""Undo, purge: rows in the trash come back, or leave for good. Inside the caller's transaction.

A row in the trash carries the number of the receipt that put it there. Its version does not change, so
that undoing gives back exactly what was there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from itertools import chain
from typing import Any

import apsw

from memsweep.errors import Conflict, NotFound
from memsweep.model.ids import findable
from memsweep.model.merging import Contender, Held, after_purge, freed_with, settle
from memsweep.model.plan import Totals, Undone
from memsweep.model.times import from_micros, to_micros
from memsweep.store.file import meta_sql
from memsweep.store.file.connect import one, row
from memsweep.store.sqlite import gc_sql, merging, segments, trash_sql


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
