"""The naive oracle: the rules in plain words, and nothing of the product.

It follows relations step by step until nothing new is reached, and has no union-find, no temporary lists,
no SQL of ours.
"""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memsweep.model.times import to_micros
from tests.collector.stores import DAY, NOW
from tests.support import store_files


@dataclass(frozen=True)
class Rows:
    """The live rows as plain dictionaries. `owners`: the memory of each live chunk."""

    memories: dict[int, dict[str, Any]]
    entities: dict[int, dict[str, Any]]
    relations: dict[int, dict[str, Any]]
    mentions: set[tuple[int, int]]
    sources: dict[int, set[int]]
    notes: dict[int, int]
    """How many memories that are no files state a relation, live or in the trash."""
    owners: dict[int, int]
    lone_chunks: set[int]


def rows_of(file: Path) -> Rows:
    with store_files.open_file(file) as db:

        def table(name: str) -> list[dict[str, Any]]:
            cursor = db.execute(f"select * from {name}")
            return [dict(zip((column[0] for column in cursor.get_description()), row, strict=True)) for row in cursor]

        everything = table("memory")
        memories = {row["id"]: row for row in everything if row["trash"] is None}
        owners = {row["id"]: row["memory"] for row in table("chunk") if row["trash"] is None}
        mentions = {
            (owners[row["chunk"]], row["entity"])
            for row in table("mention")
            if row["trash"] is None and owners.get(row["chunk"]) in memories
        }
        sources: dict[int, set[int]] = {}
        notes: dict[int, int] = {}
        files = {row["id"] for row in everything if row["source"] == "code_indexer"}
        for row in table("relation_source"):
            notes[row["relation"]] = notes.get(row["relation"], 0) + (row["memory"] not in files)
            if row["memory"] in memories:
                sources.setdefault(row["relation"], set()).add(row["memory"])
        return Rows(
            memories=memories,
            entities={row["id"]: row for row in table("entity") if row["trash"] is None},
            relations={row["id"]: row for row in table("relation") if row["trash"] is None},
            mentions=mentions,
            sources=sources,
            notes=notes,
            owners=owners,
            lone_chunks={chunk for chunk, memory in owners.items() if memory not in {row["id"] for row in everything}},
        )


def protected(row: dict[str, Any], at: int, grace_days: float = 0.0) -> bool:
    young = grace_days > 0 and row["created_at"] > at - grace_days * DAY
    return bool(row["pinned"] or row.get("type_key") == "rule" or young)


def protected_now(row: dict[str, Any], grace_days: float = 0.0) -> bool:
    return protected(row, to_micros(NOW), grace_days)


def held_by(rows: Rows, gone: AbstractSet[int] = frozenset()) -> set[int]:
    """Entities that a live memory mentions, or is the only kind of thing to state something of."""
    held = {entity for memory, entity in rows.mentions if memory not in gone}
    return held | ends(rows, (key for key, stated in rows.sources.items() if stated - gone and not alone(rows, key)))


def ends(rows: Rows, keys: Iterable[int]) -> set[int]:
    known = (rows.relations[key] for key in keys if key in rows.relations)
    return {relation[end] for relation in known for end in ("subject", "object")}


def alone(rows: Rows, key: int) -> bool:
    """Whether somebody stated a relation by itself: it was stated more often than by memories."""
    relation = rows.relations.get(key)
    return relation is not None and bool(relation["handed_in"]) and relation["evidence"] > rows.notes.get(key, 0)


def lost_with(rows: Rows, gone: AbstractSet[int]) -> set[int]:
    """Entities that these memories spoke of, and of which nothing is stated by itself: their name holds no more."""
    spoken = {entity for memory, entity in rows.mentions if memory in gone}
    spoken |= ends(rows, (key for key, stated in rows.sources.items() if stated & gone and not alone(rows, key)))
    return spoken - ends(rows, (key for key in rows.relations if alone(rows, key) or not rows.sources.get(key)))


def relations_left(rows: Rows, gone: AbstractSet[int]) -> list[dict[str, Any]]:
    """Relations that are still stated by something, or were handed in, once these memories are gone."""
    return [
        relation
        for key, relation in rows.relations.items()
        if alone(rows, key) or not rows.sources.get(key) or rows.sources[key] - gone
    ]


def reached(rows: Rows, gone: AbstractSet[int], at: int, grace_days: float = 0.0) -> set[int]:
    """Entities that something keeps alive once these memories are gone, directly or over relations."""
    alive = held_by(rows, gone)
    named = {key for key, row in rows.entities.items() if row["handed_in"]} - lost_with(rows, gone)
    alive |= named | {key for key, row in rows.entities.items() if protected(row, at, grace_days)}
    alive &= rows.entities.keys()
    return spread(alive, relations_left(rows, gone))


def reached_now(rows: Rows, gone: AbstractSet[int]) -> set[int]:
    return reached(rows, gone, to_micros(NOW))


def spread(alive: set[int], relations: Sequence[dict[str, Any]]) -> set[int]:
    """Life goes over every relation, until nothing new is reached."""
    alive = set(alive)
    while True:
        before = len(alive)
        for relation in relations:
            if relation["subject"] in alive or relation["object"] in alive:
                alive |= {relation["subject"], relation["object"]}
        if len(alive) == before:
            return alive


MEMORY_RULES: dict[str, Callable[[Rows, int, float | None], set[int]]] = {
    "stale_code": lambda rows, at, ttl: {
        key for key, row in rows.memories.items() if row["source"] == "code_indexer" and row["stale"]
    },
    "empty_memories": lambda rows, at, ttl: rows.memories.keys() - set(rows.owners.values()),
    "expired": lambda rows, at, ttl: {
        key
        for key, row in rows.memories.items()
        if (row["expires_at"] is not None and row["expires_at"] <= at)
        or (ttl is not None and (row["last_seen_at"] or row["created_at"]) < at - ttl * DAY)
    },
}


def expected(
    rows: Rows, strategy: str, now: datetime = NOW, ttl_days: float | None = None, grace_days: float = 0.0
) -> dict[str, set[int]]:
    """What a plan of this strategy must hold, by kind."""
    at = to_micros(now)
    parts = {"all": ("stale_code", "orphaned_chunks", "orphaned_entities", "unreachable_entities")}.get(
        strategy, (strategy,)
    )
    memories: set[int] = set()
    entities: set[int] = set()
    for part in parts:
        if part in MEMORY_RULES:
            memories |= MEMORY_RULES[part](rows, at, ttl_days)
    memories = {key for key in memories if not protected(rows.memories[key], at, grace_days)}
    alive = reached(rows, set(), at, grace_days)
    connected = {end for relation in rows.relations.values() for end in (relation["subject"], relation["object"])}
    if "orphaned_entities" in parts:
        entities |= rows.entities.keys() - alive - connected
    if "unreachable_entities" in parts:
        entities |= rows.entities.keys() - alive
    entities |= alive - reached(rows, memories, at, grace_days)  # what loses its root
    chunks = {key for key, memory in rows.owners.items() if memory in memories}
    if "orphaned_chunks" in parts:
        chunks |= rows.lone_chunks
    relations = {
        key
        for key, relation in rows.relations.items()
        if {relation["subject"], relation["object"]} & entities
        or (not alone(rows, key) and rows.sources.get(key) and not rows.sources[key] - memories)
    }
    return {"memory": memories, "entity": entities, "chunk": chunks, "relation": relations}
