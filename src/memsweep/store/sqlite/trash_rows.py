"""The trash as rows: what comes back, and what is freed for good. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import apsw

from memsweep.model.ids import findable
from memsweep.model.selection import Selection
from memsweep.store.file import meta_sql
from memsweep.store.file.connect import one
from memsweep.store.ports.trash import Clash, Clashes, SameText, TrashedChunk
from memsweep.store.sqlite import trash_sql
from memsweep.store.sqlite.rows import as_list


class SqliteTrash:
    """Implements `memsweep.store.ports.trash.TrashRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def find(self, item_id: str) -> tuple[str, int] | None:
        found: list[Any] = self._db.execute(trash_sql.TRASHED_ITEM, {"id": findable(item_id)}).fetchall()
        return next(((kind, key) for kind, key in found), None)

    def held_by(self, receipts: Collection[int]) -> Selection:
        return Selection(**{kind: set(self._keys(query, receipts)) for kind, query in trash_sql.HELD_BY.items()})

    def holders(self, held: Selection) -> list[tuple[int, str]]:
        asked = ((trash_sql.HOLDERS["memory"], held.memories), (trash_sql.HOLDERS["entity"], held.entities))
        found: list[Any] = [row for query, keys in asked for row in self._db.execute(query, (as_list(keys),))]
        return found

    def memories_of(self, receipt: int) -> list[int]:
        return self._keys(trash_sql.HELD_BY["memories"], [receipt])

    def _keys(self, statement: str, values: Collection[int]) -> list[int]:
        return [key for (key,) in self._db.execute(statement, (as_list(values),))] if values else []

    def clashes(self, memories: Collection[int]) -> Clashes:
        if not memories:
            return Clashes([], [])
        asked = (as_list(memories),)
        files: list[Any] = self._db.execute(trash_sql.CLASHING_FILES, asked).fetchall()
        texts: list[Any] = self._db.execute(trash_sql.SAME_TEXTS, asked).fetchall()
        return Clashes([Clash(*row) for row in files], [SameText(*row) for row in texts])

    def chunks_of(self, receipt: int) -> list[TrashedChunk]:
        return [TrashedChunk(*row) for row in self._db.execute(trash_sql.CHUNKS_OF, (receipt,))]

    def chunks_with(self, memories: Collection[int]) -> list[int]:
        return self._keys(trash_sql.CHUNKS_WITH, memories)

    def named_by_plans(self, held: Iterable[tuple[int, int]]) -> set[int]:
        pairs = set(held)
        asked = {"receipts": as_list({receipt for _, receipt in pairs}), "keys": as_list(key for key, _ in pairs)}
        rows: list[Any] = self._db.execute(trash_sql.NAMED_BY_PLANS, asked).fetchall()
        return {key for key, receipt in rows if (key, receipt) in pairs}

    def restore(self, back: Selection) -> None:
        for statement, keys in (
            (trash_sql.RESTORE_MEMORIES, back.memories),
            (trash_sql.REINDEX_CHUNKS, back.chunks),
            (trash_sql.RESTORE_CHUNKS, back.chunks),
            (trash_sql.RESTORE_ENTITIES, back.entities),
            (trash_sql.MENTIONS_RETURN_WITH_CHUNKS, back.chunks),
            (trash_sql.MENTIONS_RETURN_WITH_ENTITIES, back.entities),
        ):
            if keys:
                self._db.execute(statement, (as_list(keys),))

    def hand_over(self, namesakes: Mapping[int, int]) -> None:
        for entity, namesake in sorted(namesakes.items()):
            for statement in trash_sql.HAND_OVER:
                self._db.execute(statement, {"entity": entity, "namesake": namesake})

    def free(self, gone: Selection) -> None:
        for statements, keys in (
            (trash_sql.FREE_OF_CHUNKS, gone.chunks),
            (trash_sql.FREE_OF_MEMORIES, gone.memories),
            (trash_sql.FREE_OF_RELATIONS, gone.relations),
            (trash_sql.FREE_OF_ENTITIES, gone.entities),
        ):
            listed = (as_list(keys),)
            for statement in statements if keys else ():
                self._db.execute(statement, listed)
        if gone != Selection():
            for statement in trash_sql.FREE_LEFTOVERS:
                self._db.execute(statement)
        if gone.chunks:
            forget_chunks(self._db)

    def forget_plans(self, plan_ids: Collection[str]) -> None:
        self._db.executemany(trash_sql.DROP_PLAN_ITEMS, [(plan,) for plan in plan_ids])


def forget_chunks(db: apsw.Connection) -> None:
    """The word index and the vector files still know what was in chunks that are no more."""
    db.execute(trash_sql.MERGE_WORDS)
    generation = one(db, meta_sql.GET_META, ("vector_generation",)) or 0
    db.execute(meta_sql.SET_META, ("vector_generation", generation + 1))
