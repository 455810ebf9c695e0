"""The collector's side of a workspace: transactions, and reads that each are one."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import apsw

from memsweep.errors import StoreBusy, StoreError
from memsweep.model.likeness import WordGroups
from memsweep.model.plan import Survey, SurveyedEntity, SurveyedMemory, SurveyedRelation, spoken_of
from memsweep.model.reach import spanning, without_root
from memsweep.store.changes import Changes, WorkspaceReads
from memsweep.store.file import commit_marker, schema
from memsweep.store.file.connect import Pool, one
from memsweep.store.items import Items, reads_edges, reads_entities, reads_unmentioned_only
from memsweep.store.journals import Revisions
from memsweep.store.memory_acts import MemoryActRows, PlacedMention
from memsweep.store.refusals import too_slow
from memsweep.store.sqlite import graph_sql, search_sql, superseding_sql
from memsweep.store.sqlite.memory_act_sql import ADD_MENTION_AT
from memsweep.store.sqlite.rows import SqliteRows, as_list
from memsweep.store.sqlite.searching import count_of
from memsweep.store.sqlite.vectors import VectorIndex
from memsweep.store.trash import Clash, Clashes, SameText, Trash
from memsweep.store.words import any_of, having, words_of

# A file may be known by another root, under another path. The cross joins keep the order: each step is a lookup then.
_CLASHING_FILES = """
    select mine.id, mine.uid, theirs.uid from json_each(?) as wanted join memory as mine on mine.id = wanted.value
    join code_file on code_file.memory = mine.id
    join code_root as home on home.id = code_file.root
    cross join code_root as root
      on substr(rtrim(home.path, '/') || '/' || code_file.path, 1, length(rtrim(root.path, '/')) + 1)
       = rtrim(root.path, '/') || '/'
    cross join code_file as other on other.root = root.id and other.memory <> mine.id
      and other.path = substr(rtrim(home.path, '/') || '/' || code_file.path, length(rtrim(root.path, '/')) + 2)
    cross join memory as theirs on theirs.id = other.memory and theirs.trash is null"""
_SAME_TEXTS = """
    select mine.id, mine.uid, theirs.uid, theirs.id
    from json_each(?) as wanted join memory as mine on mine.id = wanted.value
    join memory as theirs on theirs.content_hash = mine.content_hash and theirs.trash is null
      and theirs.source <> 'code_indexer' and theirs.thread is mine.thread and theirs.text = mine.text
    where mine.source <> 'code_indexer'"""
# Words of removed chunks stay in the segments of the full text until these are merged.
_MERGE_WORDS = "insert into chunk_fts (chunk_fts) values ('optimize')"
_MERGE_SEGMENT_WORDS = "insert into segment_fts (segment_fts) values ('optimize')"


class SqliteRevisions(Revisions):
    """Revisions, in the order of their keys."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def free(self, keys: Collection[int]) -> None:
        """The word index knows their texts for a while."""
        if keys:
            self.drop(keys)
            self._db.execute(_MERGE_WORDS)
            generation = one(self._db, schema.GET_META, ("vector_generation",)) or 0
            self._db.execute(schema.SET_META, ("vector_generation", generation + 1))
            self._db.execute(_MERGE_SEGMENT_WORDS)


class SqliteMemoryActs(MemoryActRows):
    """Implements `memsweep.store.memory_acts.MemoryActRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        self._db.executemany(ADD_MENTION_AT, [each._asdict() for each in mentions])


class SqliteReads(WorkspaceReads):
    """The rows of a file at one moment."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db
        self.items = SqliteItems(db)

    def matches(self, window: int, query: str, count: int) -> dict[int, float]:
        return _stash_matches(self._db, window, query, count)


class SqliteChanges(Changes):
    """Inside the caller's transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db
        self.items = SqliteItems(db)
        self.trash = SqliteTrash(db)
        self.acts = SqliteMemoryActs(db)
        self.revisions = SqliteRevisions(db)

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
        files: list[Any] = self._db.execute(_CLASHING_FILES, asked).fetchall()
        texts: list[Any] = self._db.execute(_SAME_TEXTS, asked).fetchall()
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


# As `memsweep.model.memory.last_seen` says.
_SEEN = """
    case when stale or code_file.memory is null then last_seen_at
         else max(coalesce(last_seen_at, created_at), coalesce(code_scope.verified_at, code_file.verified_at, 0)) end"""
_MEMORIES = f"""
    select memory.id, version, source = 'code_indexer', stale, pinned, created_at, {_SEEN}, expires_at, content_hash
    from memory left join code_file on code_file.memory = memory.id
    left join code_scope on code_scope.id = code_file.scope
    where memory.trash is null order by memory.id"""
_CHUNK_COUNTS = "select memory, count(*) from chunk where trash is null group by memory"
_LONE_CHUNKS = """
    select chunk.id, chunk.memory from chunk left join memory on memory.id = chunk.memory
    where chunk.trash is null and memory.id is null order by chunk.id"""
_ENTITIES = """
    select id, version, type_key, pinned, handed_in, created_at, confidence, last_seen from live_entity order by id"""
_ENTITY_KEYS = "select id from live_entity order by id"
_THESE_ENTITIES = """
    select id, version, type_key, pinned, handed_in, created_at, confidence, last_seen from live_entity
    where id in (select value from json_each(?)) order by id"""
# Whether a live memory states a relation.
_STATED = """id in (
    select relation_source.relation from relation_source
    join memory on memory.id = relation_source.memory and memory.trash is null)"""
_RELATIONS = f"""
    select id, version, subject, object, weight, last_seen, invalid_at, {_STATED}
    from relation where trash is null order by id"""
_EDGES = "select subject, object from live_relation"
_STANDING_EDGES = f"""
    select subject, object from relation where trash is null and ({graph_sql.BY_ITSELF} or not {_STATED})"""
_STATED_EDGES = f"""
    select memory.id, relation.subject, relation.object from relation_source
    join relation on relation.id = relation_source.relation and relation.trash is null and not {graph_sql.BY_ITSELF}
    join memory on memory.id = relation_source.memory and memory.trash is null"""
_WITH_ANY_WORD = """
    select distinct memory.id from chunk_fts join chunk on chunk.id = chunk_fts.rowid
    join memory on memory.id = chunk.memory and memory.trash is null
    where chunk_fts match ? and memory.source <> 'code_indexer'"""
_IN_PIECES = f"""{_WITH_ANY_WORD}
      and exists (select 1 from chunk as other where other.memory = memory.id and other.trash is null
                  and other.position <> chunk.position)"""
_MENTIONS = """
    select distinct chunk.memory, mention.entity from mention
    join chunk on chunk.id = mention.chunk and chunk.trash is null
    join memory on memory.id = chunk.memory and memory.trash is null
    where mention.trash is null"""
_TEXTS = "select id, text from live_memory where source <> 'code_indexer'"

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
        mentions = list(db.execute(_MENTIONS)) if knowledge else []
        stated = list(db.execute(_STATED_EDGES)) if "statements" in needs else []
        entities, edges = _graph(db, needs, spoken_of(mentions, stated)) if knowledge else ([], [])
        return Survey(
            memories=list(map(_memory_row, db.execute(_MEMORIES))),
            chunk_counts=dict(db.execute(_CHUNK_COUNTS)) if "chunk counts" in needs else {},
            lone_chunks=list(db.execute(_LONE_CHUNKS)) if "lone chunks" in needs else (),
            entities=entities,
            edges=edges,
            stated=stated,
            mentions=mentions,
            relations=list(map(_relation_row, db.execute(_RELATIONS))) if "relations" in needs else (),
            texts=dict(db.execute(_TEXTS)) if "texts" in needs else {},
            missing_files=frozenset(missing_files),
            supersessions=list(db.execute(superseding_sql.LINKS)) if "supersessions" in needs else (),
        )

    def count_words(self, words: Collection[str]) -> dict[str, int]:
        return {word: count_of(self._db, word) for word in words}

    def with_words(self, words: WordGroups, *, in_pieces: bool = False) -> set[int]:
        said = _IN_PIECES if in_pieces else _WITH_ANY_WORD
        return {key for (key,) in self._db.execute(said, (having(words.needed, words.groups),))}


def _graph(
    db: apsw.Connection, needs: Collection[str], spoken: set[int]
) -> tuple[list[SurveyedEntity], list[tuple[int, int]]]:
    if not reads_unmentioned_only(needs):
        entities = list(map(_entity_row, db.execute(_ENTITIES)))
        return entities, _edges(db, needs, entities) if reads_edges(needs) else []
    # What a memory states connects its ends as well, but then they are spoken of: every relation will do.
    every = [key for (key,) in db.execute(_ENTITY_KEYS)]
    rows: Iterator[Any] = db.execute(_EDGES)
    keys, edges = without_root(every, rows, spoken)
    return list(map(_entity_row, db.execute(_THESE_ENTITIES, (json.dumps(keys),)))), edges


def _edges(db: apsw.Connection, needs: Collection[str], entities: Sequence[SurveyedEntity]) -> list[tuple[int, int]]:
    """Return relations. Who asks for ways gets every one; others only what they connect."""
    rows: Iterator[Any] = db.execute(_STANDING_EDGES if "statements" in needs else _EDGES)
    return list(rows) if "ways" in needs else spanning([entity.key for entity in entities], rows)
