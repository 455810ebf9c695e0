"""The collector's side of a workspace: transactions, and reads that each are one."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from typing import Any

import apsw

from memsweep.errors import StoreBusy, StoreError
from memsweep.model.likeness import WordGroups
from memsweep.model.memory import NewMemory, StatedIn
from memsweep.model.plan import Survey, SurveyedEntity, SurveyedMemory, SurveyedRelation, spoken_of
from memsweep.model.reach import spanning, without_root
from memsweep.model.revision import MemoryText, Piece, mentioned_by
from memsweep.model.text import to_json
from memsweep.model.times import to_micros
from memsweep.store.changes import Changes, WorkspaceReads
from memsweep.store.file import commit_marker, schema
from memsweep.store.file.connect import Pool, one
from memsweep.store.items import Items, reads_edges, reads_entities, reads_unmentioned_only
from memsweep.store.journals import Revisions
from memsweep.store.refusals import too_slow
from memsweep.store.sqlite import gc_sql, revision_sql, search_sql, sql, superseding_sql, trash_sql, writing
from memsweep.store.sqlite.rows import SqliteRows, as_list
from memsweep.store.sqlite.searching import count_of
from memsweep.store.sqlite.vectors import VectorIndex
from memsweep.store.sqlite.writing import SqliteMemoryActs
from memsweep.store.texts import Texts
from memsweep.store.trash import Clash, Clashes, SameText, Trash
from memsweep.store.words import any_of, having, words_of


class SqliteRevisions(Revisions):
    """Revisions, in the order of their keys."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def free(self, keys: Collection[int]) -> None:
        """The word index knows their texts for a while."""
        if keys:
            self.drop(keys)
            self._db.execute(trash_sql.MERGE_WORDS)
            generation = one(self._db, schema.GET_META, ("vector_generation",)) or 0
            self._db.execute(schema.SET_META, ("vector_generation", generation + 1))
            self._db.execute(trash_sql.MERGE_SEGMENT_WORDS)


class SqliteTexts(Texts):
    """Implements `memsweep.store.texts.Texts`."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def pieces(self, memories: Collection[int]) -> dict[int, list[Piece]]:
        rows: list[Any] = self._db.execute(revision_sql.PIECES, {"keys": as_list(memories)}).fetchall()
        found: dict[int, list[Piece]] = {key: [] for key in memories}
        for memory, uid, text, start, first, last, vector, *rest, mentions, key in rows:
            mentioned = mentioned_by(json.loads(mentions))
            piece = Piece._make((uid, text, start, first, last, vector or b"", *rest, *mentioned, key, ()))
            found[memory].append(piece)
        return found

    def write(self, memory: MemoryText, pieces: Sequence[Piece] | None) -> list[int]:
        self.change_text(memory)
        if pieces is None:
            return []
        places = writing.placed(self._db, memory.key, memory.thread, pieces)
        self._drop_chunks(memory.key)
        return self.add_chunks(memory, pieces, places)

    def name(self, memory: int, chunks: Mapping[int, str], new: NewMemory, origin: int | None) -> list[str]:
        carrier = StatedIn(memory, list(chunks), origin)
        return writing.add_names(self._db, new, new.mentions, carrier)[0]

    def _drop_chunks(self, memory: int) -> None:
        before = {key for (key,) in self._db.execute(revision_sql.CHUNKS_BEFORE, (memory,))}
        for statement in (
            revision_sql.UNINDEX,
            revision_sql.DROP_VECTORS,
            revision_sql.DROP_MENTIONS,
            revision_sql.DROP_CHUNKS,
        ):
            self._db.execute(statement, (memory,))
        rows: list[Any] = self._db.execute(revision_sql.NAMES_SEEN_IN, {"keys": as_list(before)}).fetchall()
        for key, name, evidence, chunks in rows:
            left = [chunk for chunk in json.loads(chunks) if chunk not in before]
            if left:
                seen = {"key": key, "name": name, "evidence": evidence, "chunks": to_json(left)}
                self._db.execute(sql.SET_NAME_SEEN, seen)
            else:
                self._db.execute(sql.DROP_NAME_SEEN, (key,))


class SqliteReads(WorkspaceReads):
    """The rows of a file at one moment."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db
        self.items = SqliteItems(db)
        self.texts = SqliteTexts(db)

    def matches(self, window: int, query: str, count: int) -> dict[int, float]:
        return _stash_matches(self._db, window, query, count)


class SqliteChanges(Changes):
    """Inside the caller's transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db
        self.items = SqliteItems(db)
        self.texts = SqliteTexts(db)
        self.trash = SqliteTrash(db)
        self.acts = SqliteMemoryActs(db)
        self.revisions = SqliteRevisions(db)

    def let_go(self, before: datetime, most: int) -> None:
        for statement in trash_sql.LET_GO:
            self._db.execute(statement, {"before": to_micros(before), "most": most})

    def matches(self, window: int, query: str, count: int) -> dict[int, float]:
        return _stash_matches(self._db, window, query, count)


def _stash_matches(db: apsw.Connection, window: int, query: str, count: int) -> dict[int, float]:
    words = words_of(query)[:_MAX_QUERY_WORDS]
    if not words:
        return {}
    values = {"window": window, "words": any_of(words), "count": count}
    rows: list[Any] = db.execute(search_sql.STASH_MATCHES, values).fetchall()
    return {place: max(score, 1e-9) for place, score in rows}


class SqliteTrash(Trash):
    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def clashes(self, memories: Collection[int]) -> Clashes:
        if not memories:
            return Clashes([], [])
        asked = (as_list(memories),)
        files: list[Any] = self._db.execute(trash_sql.CLASHING_FILES, asked).fetchall()
        texts: list[Any] = self._db.execute(trash_sql.SAME_TEXTS, asked).fetchall()
        return Clashes([Clash(*row) for row in files], [SameText(*row) for row in texts])


_MAX_QUERY_WORDS = 32
_STEPS_BETWEEN_LOOKS = 100_000


@contextmanager
def changing(pool: Pool, seconds: float | None) -> Iterator[SqliteChanges]:
    with pool.writing() as db, nullcontext() if seconds is None else _within(db, seconds):
        yield SqliteChanges(db)


def wipe(pool: Pool, vectors: VectorIndex, done: str) -> list[str]:
    """Zero what was freed in the pages of the file; the log and the vector files still have it.

    The transaction has ended by now, so an error must say first what was `done`.
    """
    kept = [*vectors.forget(), *commit_marker.remove_all(pool.path)]
    try:
        with pool.connection() as db:
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except StoreBusy:
        raise StoreBusy(
            f"{done}, but another process holds on to {pool.path}-wal, which still has it.",
            hint="Purge again when that process has ended.",
        ) from None
    except StoreError as error:
        raise type(error)(
            f"{done}, but {pool.path}-wal may still have it ({error.__cause__ or error.message}).",
            hint="Run `memsweep compact` when the disk works again.",
        ) from error
    if kept:
        raise StoreError(
            f"{done}, but {kept[0]} may still have something of it and cannot be removed.",
            hint="Remove that file, or run `memsweep compact` when the folder can be written.",
        )
    return []


@contextmanager
def _within(db: apsw.Connection, seconds: float) -> Iterator[None]:
    """Give up after so many seconds, inside a transaction that is then rolled back."""
    deadline = time.monotonic() + seconds
    db.set_progress_handler(lambda: time.monotonic() >= deadline, _STEPS_BETWEEN_LOOKS)
    try:
        yield
        if time.monotonic() >= deadline:
            raise apsw.InterruptError
    except apsw.InterruptError:
        raise too_slow(seconds) from None
    finally:
        db.set_progress_handler(None)


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
