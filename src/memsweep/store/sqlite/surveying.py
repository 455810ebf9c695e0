"""Reading what the collector's rules must see. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import apsw

from memsweep.model.distinctive_words import WordGroups
from memsweep.model.plan import Survey, SurveyedEntity, SurveyedMemory, SurveyedRelation, spoken_of
from memsweep.model.reach import spanning, without_root
from memsweep.store.file.words import having
from memsweep.store.items import Items, reads_edges, reads_entities, reads_unmentioned_only
from memsweep.store.sqlite import gc_sql, superseding_sql
from memsweep.store.sqlite.rows import SqliteRows
from memsweep.store.sqlite.words import count_of

_memory_row = partial(tuple.__new__, SurveyedMemory)  # what `_make` does, without its check of the length
_entity_row = partial(tuple.__new__, SurveyedEntity)
_relation_row = partial(tuple.__new__, SurveyedRelation)


class SqliteItems(Items):
    """Items of a workspace file, with what the collector's rules must see."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def survey(self, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
        db = self._db
        knowledge = reads_entities(needs)
        mentions = list(db.execute(gc_sql.MENTIONS)) if knowledge else []
        stated = list(db.execute(gc_sql.STATED_EDGES)) if "statements" in needs else []
        entities, edges = _graph(db, needs, spoken_of(mentions, stated)) if knowledge else ([], [])
        return Survey(
            memories=list(map(_memory_row, db.execute(gc_sql.MEMORIES))),
            chunk_counts=dict(db.execute(gc_sql.CHUNK_COUNTS)) if "chunk counts" in needs else {},
            lone_chunks=list(db.execute(gc_sql.LONE_CHUNKS)) if "lone chunks" in needs else (),
            entities=entities,
            edges=edges,
            stated=stated,
            mentions=mentions,
            relations=list(map(_relation_row, db.execute(gc_sql.RELATIONS))) if "relations" in needs else (),
            texts=dict(db.execute(gc_sql.TEXTS)) if "texts" in needs else {},
            missing_files=frozenset(missing_files),
            supersessions=list(db.execute(superseding_sql.LINKS)) if "supersessions" in needs else (),
        )

    def survey_of(self, memories: Collection[int], entities: Collection[int] = ()) -> Survey:
        db = self._db
        of_memories, of_entities = ({"keys": json.dumps(sorted(keys))} for keys in (memories, entities))
        return Survey(
            memories=list(map(_memory_row, db.execute(gc_sql.MEMORIES_OF, of_memories))),
            chunk_counts=dict(db.execute(gc_sql.CHUNK_COUNTS_OF, of_memories)),
            supersessions=list(db.execute(superseding_sql.LINKS_OF, of_memories)),
            entities=list(map(_entity_row, db.execute(gc_sql.THESE_ENTITIES, (of_entities["keys"],)))),
            mentions=list(db.execute(gc_sql.MENTIONS_OF, of_entities)),
            stated=list(db.execute(gc_sql.STATED_AT, of_entities)),
            edges=list(db.execute(gc_sql.STANDING_AT, of_entities)),
            relations=list(map(_relation_row, db.execute(gc_sql.RELATIONS_AT, of_entities))),
        )

    def count_words(self, words: Collection[str]) -> dict[str, int]:
        return {word: count_of(self._db, word) for word in words}

    def with_words(self, words: WordGroups, *, in_pieces: bool = False) -> set[int]:
        said = gc_sql.IN_PIECES if in_pieces else gc_sql.WITH_ANY_WORD
        return {key for (key,) in self._db.execute(said, (having(words.needed, words.groups),))}


def _graph(
    db: apsw.Connection, needs: Collection[str], spoken: set[int]
) -> tuple[list[SurveyedEntity], list[tuple[int, int]]]:
    if not reads_unmentioned_only(needs):
        entities = list(map(_entity_row, db.execute(gc_sql.ENTITIES)))
        return entities, _edges(db, needs, entities) if reads_edges(needs) else []
    # What a memory states connects its ends as well, but then they are spoken of: every relation will do.
    every = [key for (key,) in db.execute(gc_sql.ENTITY_KEYS)]
    rows: Iterator[Any] = db.execute(gc_sql.EDGES)
    keys, edges = without_root(every, rows, spoken)
    return list(map(_entity_row, db.execute(gc_sql.THESE_ENTITIES, (json.dumps(keys),)))), edges


def _edges(db: apsw.Connection, needs: Collection[str], entities: Sequence[SurveyedEntity]) -> list[tuple[int, int]]:
    """Return relations. Who asks for ways gets every one; others only what they connect."""
    rows: Iterator[Any] = db.execute(gc_sql.STANDING_EDGES if "statements" in needs else gc_sql.EDGES)
    return list(rows) if "ways" in needs else spanning([entity.key for entity in entities], rows)
