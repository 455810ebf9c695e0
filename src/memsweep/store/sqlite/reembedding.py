"""Vectors of another model are staged beside the current ones and take their place in one transaction."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from memsweep.model.workspace import EmbeddingModel
from memsweep.store.file import meta_sql, rows_sql
from memsweep.store.file.connect import Pool, one
from memsweep.store.file.meta import write_model
from memsweep.store.ports.memories import Embed
from memsweep.store.sqlite import sql
from memsweep.store.sqlite.vectors import VectorIndex

_STAGED_MODEL = "staged_model"
_GENERATION = "vector_generation"


class SqliteReembedding:
    """Implements `memsweep.store.ports.memories.Reembedding`."""

    def __init__(self, pool: Pool, vectors: VectorIndex) -> None:
        self._pool, self._vectors = pool, vectors

    def unstaged(self, model: EmbeddingModel, limit: int) -> list[tuple[int, str]]:
        with self._pool.writing() as db:
            _stage_for(db, model)
            return list(db.execute(sql.UNSTAGED, (limit,)))

    def stage(self, vectors: Iterable[tuple[int, bytes]], model: EmbeddingModel) -> None:
        with self._pool.writing() as db:
            _stage_for(db, model)
            db.executemany(sql.STAGE_VECTOR, vectors)

    def switch(self, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
        with self._pool.writing() as db:
            _stage_for(db, model)
            missing: int = one(db, sql.UNSTAGED_COUNT)
            if missing > at_most:
                return missing
            if rest := list(db.execute(sql.UNSTAGED, (missing,))):
                vectors = embed([text for _, text in rest])
                db.executemany(sql.STAGE_VECTOR, zip((key for key, _ in rest), vectors, strict=True))
            db.execute(sql.SWITCH_VECTORS)
            db.execute(meta_sql.SET_META, (_GENERATION, (one(db, meta_sql.GET_META, (_GENERATION,)) or 0) + 1))
            write_model(db, model)
        self._vectors.forget()
        return 0


def _stage_for(db: apsw.Connection, model: EmbeddingModel) -> None:
    """A stage that was begun with this model goes on; one of another model is thrown away."""
    label = f"{model.name} {model.dimension}"
    if one(db, meta_sql.GET_META, (_STAGED_MODEL,)) != label:
        db.execute(sql.DROP_STAGE)
        db.execute(meta_sql.SET_META, (_STAGED_MODEL, label))
    db.execute(rows_sql.MAKE_STAGE)
