"""Looking after one workspace file: examine, repair, compact, copy.

Vectors of another model are staged beside the current ones, and take their place in one transaction.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import apsw

from memsweep.errors import StoreCorrupt, StoreError
from memsweep.model.care import Compaction, Finding, Seal
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.file import care_sql, commit_marker, content, health, rows_sql, schema, values
from memsweep.store.file.connect import Pool, connected, one, plain_errors
from memsweep.store.file.meta import read_model, write_model
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.protocol import Embed
from memsweep.store.sqlite import rescue, sql
from memsweep.store.sqlite.rescue import refusal
from memsweep.store.sqlite.vectors import VectorIndex

_PATIENCE_MILLISECONDS = 2000


_STAGED_MODEL = "staged_model"
_GENERATION = "vector_generation"


class SqliteReembedding:
    """The half of `memsweep.store.protocol.Keeper` that embeds by another model."""

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
            db.execute(schema.SET_META, (_GENERATION, (one(db, schema.GET_META, (_GENERATION,)) or 0) + 1))
            write_model(db, model)
        self._vectors.forget()
        return 0


def _stage_for(db: apsw.Connection, model: EmbeddingModel) -> None:
    """A stage that was begun with this model goes on; one of another model is thrown away."""
    label = f"{model.name} {model.dimension}"
    if one(db, schema.GET_META, (_STAGED_MODEL,)) != label:
        db.execute(sql.DROP_STAGE)
        db.execute(schema.SET_META, (_STAGED_MODEL, label))
    db.execute(rows_sql.MAKE_STAGE)


class SqliteKeeper(SqliteReembedding):
    """Implements `memsweep.store.protocol.Keeper`."""

    def __init__(self, path: Path, pool: Pool, vectors: VectorIndex) -> None:
        super().__init__(pool, vectors)
        self._path = path

    def examine(self) -> list[Finding]:
        """Return what is wrong at two looks: a read that the disk refused for once looks like damage, too."""
        try:
            found = self._look()
            again = {each.invariant: each for each in self._look()} if found else {}
        except StoreError:
            if refused := refusal(self._path):
                return health.finding("disk_refuses", [refused])
            raise
        if again and (refused := refusal(self._path)):
            return health.finding("disk_refuses", [refused])
        return [again[each.invariant] for each in found if each.invariant in again]

    def _look(self) -> list[Finding]:
        try:
            with self._new_connection() as db:
                found = health.examine(db, self._vectors.differing_files)
                lost = health.finding("writes_lost", [loss.said for loss in commit_marker.losses(self._path)])
                return [*lost, *found]
        except StoreCorrupt as error:
            return [Finding("file_damaged", 1, (str(error.__cause__ or error.message),))]

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> list[str]:
        kept = rescue.put_aside(self._pool, to_micros(now)) if cure == "values" else None
        with self._pool.writing() as db:
            lost = health.mend(db, cure, found, actor, now).lost
        if cure in health.CHANGES_VECTORS:
            self._vectors.forget()
        if kept is not None:
            lost.append(f"the file as it was is kept as {kept} until the next purge.")
        return commit_marker.acknowledge(self._path) if cure == "losses" else lost

    def explain(self) -> StoreCorrupt | None:
        with self._pool.connection() as db:
            return values.explain(db, self._path)

    def compact(self) -> Compaction:
        """Readers are not disturbed; but while one still reads the old state, the file cannot shrink."""
        before = self._size_bytes()
        self._vectors.forget()
        with self._new_connection() as db:
            for table in health.full_texts():
                db.execute(care_sql.optimise_words(table))
            db.execute("pragma temp_store=file")  # the copy that VACUUM makes may be larger than the memory
            db.execute("vacuum")
            finished = self._gave_back(db)
            if (model := read_model(db)) is not None:
                with contextlib.suppress(ValueError):  # vectors that do not fit together are the doctor's
                    self._vectors.similarities(db, bytes([1]) * model.dimension)  # a search writes the file anew
        return Compaction(before, self._size_bytes(), finished)

    def copy(self, draft: Path, named: Path, version: str, now: datetime, progress: CopyProgress | None = None) -> Seal:
        try:
            with self._pool.reading() as db, plain_errors(named):
                return content.copy(db, draft, version, now)
        except StoreCorrupt as error:
            raise StoreCorrupt(
                f"{self._path} is damaged ({error.__cause__}); no backup was made.", hint="Run `memsweep doctor`."
            ) from error

    def _gave_back(self, db: apsw.Connection) -> bool:
        """Move what was written into the file itself and cut both to size; not while somebody reads the old state."""
        db.set_busy_timeout(_PATIENCE_MILLISECONDS)
        try:
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        except (apsw.IOError, apsw.FullError) as error:  # the compaction itself is done
            raise StoreError(
                f"{self._path} was compacted, but the space could not be given back yet ({error}).",
                hint="Compact again when the disk works.",
            ) from error
        return True

    @contextlib.contextmanager
    def _new_connection(self) -> Iterator[apsw.Connection]:
        with plain_errors(self._path), connected(self._path, WORKSPACE_MIGRATIONS) as db:
            yield db

    def _size_bytes(self) -> int:
        sizes = 0
        for end in ("", "-wal"):
            with contextlib.suppress(OSError):
                sizes += self._path.with_name(self._path.name + end).stat().st_size
        return sizes + self._vectors.size_bytes()
