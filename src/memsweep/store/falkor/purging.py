"""Purge: what old receipts hold leaves for good. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memsweep.model.plan import Totals
from memsweep.model.times import to_micros
from memsweep.store.falkor import code_cypher, context_cypher, cypher, merging_cypher, trash_cypher
from memsweep.store.falkor.applying import Doomed
from memsweep.store.falkor.finishing import Merges
from memsweep.store.falkor.transaction import Change


def of_receipts(tx: Change, receipts: list[int]) -> Doomed:
    """What these receipts hold."""
    asked = (
        trash_cypher.DYING_MEMORIES,
        trash_cypher.DYING_CHUNKS,
        trash_cypher.DYING_ENTITIES,
        trash_cypher.DYING_RELATIONS,
    )
    memories, *others = tx.ask_all(*((query, {"receipts": receipts}) for query in asked))
    chunks, entities, relations = ({key for (key,) in rows} for rows in others)
    return Doomed({row[0] for row in memories}, chunks, entities, relations)


def free(tx: Change, dying: Doomed, receipts: list[int], *, live: bool = False) -> Totals:
    """Free it, but for what another receipt's memories state or mention; `live` if it is moved only now."""
    merges = Merges(tx, receipts)
    loops = merges.loops()
    needed = _needed_relations(tx, dying.relations - merges.put_away - loops, receipts)
    tx.do(trash_cypher.HAND_ON_RELATION, [{"key": key, "trash": trash} for key, trash in sorted(needed.items())])
    around, mentioned = _around(tx, dying, receipts, live=live)
    rows = [row for row in around if row[2] not in merges.targets]
    holders = _holders(dying, receipts, needed, rows, mentioned)
    tx.do(trash_cypher.HAND_ON_ENTITY, [{"key": key, "trash": trash} for key, trash in sorted(holders.items())])
    entities = dying.entities - holders.keys()
    kept = merges.keep(around, entities, moving=dying.entities if live else set())
    relations = (dying.relations - needed.keys()) | {relation for entity, relation, _ in around if entity in entities}
    relations = relations - kept | loops
    merges.finish(entities)
    steps = (
        (trash_cypher.FREE_STATEMENTS, relations),
        (trash_cypher.FREE_RELATION, relations),
        (trash_cypher.FREE_CHUNK, dying.chunks),
        (code_cypher.DROP_EMBEDDING, dying.chunks),
        (trash_cypher.FREE_MEMORY, dying.memories),
        (trash_cypher.FREE_ENTITY, entities),
        (merging_cypher.DROP_ALIASES_OF, entities),
        (merging_cypher.DROP_MOVES, receipts),
    )
    for step, keys in steps:
        tx.do(step, sorted(keys))
    return Totals(len(dying.memories), len(dying.chunks), len(entities), len(relations))


def free_leftovers(tx: Change, dying: Doomed, rows: Iterable[list[int | str | None]]) -> None:
    """Threads, names and roots that nothing needs any more; `rows` are the threads and roots of the memories."""
    listed = list(rows)
    tx.do(trash_cypher.FREE_THREAD, sorted({int(row[1]) for row in listed if row[1] is not None}))
    tx.do(trash_cypher.FREE_ROOT, sorted({str(row[2]) for row in listed if row[2] is not None}))
    if not dying.chunks:
        return
    dropped, kept = [], []
    for key, name, evidence, chunks in tx.ask(trash_cypher.NAMES_OF_CHUNKS, chunks=sorted(dying.chunks)):
        left = [chunk for chunk in chunks if chunk not in dying.chunks]
        if left:
            kept.append({"name_key": key, "name": name, "evidence": evidence, "chunks": left})
        else:
            dropped.append(key)
    tx.do(cypher.SET_NAME_SEEN, kept)
    tx.do(cypher.DROP_NAME_SEEN, dropped)


def free_segments(tx: Change, receipts: list[int]) -> int:
    keys = [key for (key,) in tx.ask(context_cypher.DYING_SEGMENTS, receipts=receipts)]
    tx.do(context_cypher.FREE_LINKS, keys)
    tx.do(context_cypher.FREE_SEGMENT, keys)
    return len(keys)


def close(tx: Change, receipts: Iterable[tuple[int, str | None]], now: datetime) -> None:
    """The receipts are spent, and their plans say no more what was in them."""
    listed = list(receipts)
    tx.do(trash_cypher.FREE_PLAN_ITEMS, [plan for _, plan in listed if plan])
    tx.do(trash_cypher.SET_PURGED, [{"key": key, "at": to_micros(now)} for key, _ in listed])


def _needed_relations(tx: Change, relations: set[int], receipts: list[int]) -> dict[int, int]:
    if not relations:
        return {}
    rows = tx.ask(trash_cypher.NEEDED_RELATIONS, keys=sorted(relations), receipts=receipts)
    return dict(map(tuple, rows))


def _around(tx: Change, dying: Doomed, receipts: list[int], *, live: bool) -> tuple[list[list[int]], dict[int, int]]:
    """The relations of the entities, and which of those a chunk in another receipt's trash mentions."""
    if not dying.entities:
        return [], {}
    keys = sorted(dying.entities)
    rows, mentioned = tx.ask_all(
        (trash_cypher.of_entities(trash_cypher.RELATIONS_AT_ENTITIES, live=live), {"keys": keys}),
        (
            trash_cypher.of_entities(trash_cypher.MENTIONED_ENTITIES, live=live),
            {"keys": keys, "receipts": receipts},
        ),
    )
    return rows, dict(map(tuple, mentioned))


def _holders(
    dying: Doomed, receipts: list[int], needed: dict[int, int], rows: list[list[int]], mentioned: dict[int, int]
) -> dict[int, int]:
    """Entities that something in another receipt's trash mentions or leads to, and that receipt."""
    found = dict(mentioned)
    for entity, relation, trash in rows:
        held_by = needed.get(relation, None if relation in dying.relations else trash)
        if held_by is not None and held_by not in receipts:
            found[entity] = max(found.get(entity, 0), held_by)
    return found
