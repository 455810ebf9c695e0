"""Reading what the collector's rules must see. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import apsw

from memsweep.model.plan import EntityRow, MemoryRow, Survey
from memsweep.store.sqlite import gc_sql


def survey(db: apsw.Connection, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
    graph = "graph" in needs
    statements = "statements" in needs
    return Survey(
        memories=[MemoryRow._make(row) for row in db.execute(gc_sql.MEMORIES)],
        chunk_counts=dict(db.execute(gc_sql.CHUNK_COUNTS)) if "chunk counts" in needs else {},
        lone_chunks=list(db.execute(gc_sql.LONE_CHUNKS)) if "lone chunks" in needs else (),
        entities=[EntityRow._make(row) for row in db.execute(gc_sql.ENTITIES)] if graph else (),
        edges=list(db.execute(gc_sql.STANDING_EDGES if statements else gc_sql.EDGES)) if graph else (),
        stated=list(db.execute(gc_sql.STATED_EDGES)) if graph and statements else (),
        mentions=list(db.execute(gc_sql.MENTIONS)) if graph else (),
        texts=dict(db.execute(gc_sql.TEXTS)) if "texts" in needs else {},
        missing_files=frozenset(missing_files),
    )


def code_paths(db: apsw.Connection) -> list[tuple[int, str, str]]:
    """Every live code memory with its root and its path."""
    return list(db.execute(gc_sql.CODE_PATHS))


def memory_keys(db: apsw.Connection, ids: Sequence[str]) -> dict[str, int]:
    return dict(db.execute(gc_sql.MEMORY_KEYS, (json.dumps(list(ids)),)))
