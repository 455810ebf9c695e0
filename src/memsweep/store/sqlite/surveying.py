"""Reading what the collector's rules must see. Inside the caller's transaction."""

from __future__ import annotations

import gc
import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import apsw

from memsweep.model.plan import EntityRow, MemoryRow, Survey
from memsweep.store.sqlite import gc_sql

_memory_row = partial(tuple.__new__, MemoryRow)  # what `_make` does, without its check of the length
_entity_row = partial(tuple.__new__, EntityRow)


def survey(db: apsw.Connection, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
    graph = "graph" in needs
    statements = "statements" in needs
    with _no_search_for_cycles():
        return Survey(
            memories=list(map(_memory_row, db.execute(gc_sql.MEMORIES))),
            chunk_counts=dict(db.execute(gc_sql.CHUNK_COUNTS)) if "chunk counts" in needs else {},
            lone_chunks=list(db.execute(gc_sql.LONE_CHUNKS)) if "lone chunks" in needs else (),
            entities=list(map(_entity_row, db.execute(gc_sql.ENTITIES))) if graph else (),
            edges=list(db.execute(gc_sql.STANDING_EDGES if statements else gc_sql.EDGES)) if graph else (),
            stated=list(db.execute(gc_sql.STATED_EDGES)) if graph and statements else (),
            mentions=list(db.execute(gc_sql.MENTIONS)) if graph else (),
            texts=dict(db.execute(gc_sql.TEXTS)) if "texts" in needs else {},
            missing_files=frozenset(missing_files),
        )


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """A million tuples of numbers hold no cycle, and Python would look through them again and again while they grow."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def code_paths(db: apsw.Connection) -> list[tuple[int, str, str]]:
    """Every live code memory with its root and its path."""
    return list(db.execute(gc_sql.CODE_PATHS))


def memory_keys(db: apsw.Connection, ids: Sequence[str]) -> dict[str, int]:
    return dict(db.execute(gc_sql.MEMORY_KEYS, (json.dumps(list(ids)),)))
