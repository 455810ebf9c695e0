"""Memories that change in place, and their revisions. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import apsw

from memsweep.model.memory import EmbeddingModel, NewMemory, StatedIn
from memsweep.model.origin import Origin
from memsweep.model.revision import MemoryText, Piece, mentioned_by
from memsweep.model.stored import to_json
from memsweep.store.file import schema
from memsweep.store.file.connect import one
from memsweep.store.file.meta import read_model
from memsweep.store.journals import Revisions
from memsweep.store.sqlite import revision_sql, sql, trash_sql, writing
from memsweep.store.sqlite.origins import origin_key
from memsweep.store.sqlite.rows import SqliteRows, as_list
from memsweep.store.texts import Texts


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

    def model(self) -> EmbeddingModel | None:
        return read_model(self._db)

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

    def origin_key(self, origin: Origin) -> int | None:
        return origin_key(self._db, origin)

    def name(self, memory: int, chunks: Mapping[int, str], new: NewMemory) -> list[str]:
        carrier = StatedIn(memory, list(chunks), origin_key(self._db, new.origin))
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
