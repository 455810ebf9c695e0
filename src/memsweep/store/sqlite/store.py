"""One workspace in one SQLite file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memsweep.model.times import moment_or_none
from memsweep.model.workspace import model_from
from memsweep.store.file import commit_marker, metadata_sql
from memsweep.store.file.connect import Pool, one, row
from memsweep.store.file.schema import GET_META, WORKSPACE_MIGRATIONS
from memsweep.store.protocol import Store
from memsweep.store.sqlite import registry_sql, revision_sql, searching, sql, superseding_sql
from memsweep.store.sqlite.searching import WordQuery
from memsweep.store.sqlite.vectors import VectorIndex

if TYPE_CHECKING:
    import apsw

    from memsweep.model.memory import Memory, Stats
    from memsweep.model.search import (
        Candidates,
        FactWords,
        FileWords,
        Filters,
        Place,
        Statement,
    )
    from memsweep.model.workspace import EmbeddingModel
    from memsweep.store.changes import Changes, WorkspaceReads
    from memsweep.store.rows import Read
    from memsweep.store.sqlite.code import SqliteCodeFiles
    from memsweep.store.sqlite.keeper import SqliteKeeper
    from memsweep.store.sqlite.overview import SqliteOverview
    from memsweep.store.sqlite.rows import PoolRows, SqliteRows


R = TypeVar("R")


class SqliteStore(Store):
    """Implements `memsweep.store.protocol.Store`."""

    def __init__(self, workspace_id: str, path: Path) -> None:
        self.workspace_id = workspace_id
        self.path = path
        self._pool = Pool(path, WORKSPACE_MIGRATIONS)
        self._pool.kept = self._vectors = VectorIndex(path.with_suffix(""))
        self._words = WordQuery()
        self._indexed: tuple[str, ...] | None = None

    # Most commands need one feature or none, and importing the others would take longer than the command.

    @cached_property
    def code(self) -> SqliteCodeFiles:
        from memsweep.store.sqlite.code import SqliteCodeFiles

        return SqliteCodeFiles(self._pool)

    @cached_property
    def keeper(self) -> SqliteKeeper:
        from memsweep.store.sqlite.keeper import SqliteKeeper

        return SqliteKeeper(self.path, self._pool, self._vectors)

    @cached_property
    def rows(self) -> PoolRows:
        from memsweep.store.sqlite.rows import PoolRows

        return PoolRows(self._pool)

    @cached_property
    def overview(self) -> SqliteOverview:
        from memsweep.store.sqlite.overview import SqliteOverview

        return SqliteOverview(self._pool)

    @contextmanager
    def reading(self) -> Iterator[WorkspaceReads]:
        from memsweep.store.sqlite.collector import SqliteReads

        with self._pool.reading() as db:
            yield SqliteReads(db)

    def changing(self, seconds: float | None = None, *, ahead: Sequence[Read] = ()) -> AbstractContextManager[Changes]:
        from memsweep.store.sqlite.collector import changing

        return changing(self._pool, seconds)

    def at_one_moment(self, read: Callable[[WorkspaceReads], R]) -> R:
        with self.reading() as reads:
            return read(reads)

    def wipe(self, done: str, *, freed: bool = True) -> list[str]:
        from memsweep.store.sqlite.collector import wipe

        return wipe(self._pool, self._vectors, done)

    def model(self) -> EmbeddingModel | None:
        with self._pool.connection() as db:
            return model_from(one(db, GET_META, ("model",)))

    def keep_metadata_index(self, paths: tuple[str, ...]) -> None:
        if self._indexed == paths:
            return
        wanted = set(map(metadata_sql.name_of, paths))
        with self._pool.connection() as db:
            there = _metadata_indexes(db)
        if there != wanted:
            with self._pool.writing() as db:
                there = _metadata_indexes(db)
                for name in there - wanted:
                    db.execute(f'drop index "{name}"')
                for name in sorted(wanted - there):
                    db.execute(metadata_sql.definition(name) or "")
        self._indexed = paths

    def change_number(self) -> str:
        with self._pool.connection() as db:
            return commit_marker.change_number(db, self.path)

    def revision(self) -> str:
        with self._pool.reading() as db:
            return self._revision(db)

    def _revision(self, db: apsw.Connection) -> str:
        return f"{self.path.name}.{one(db, registry_sql.REVISION)}"

    @contextmanager
    def writing(self, ahead: Iterable[Read] = ()) -> Iterator[SqliteRows]:
        from memsweep.store.sqlite.rows import SqliteRows

        with self._pool.writing() as db:
            yield SqliteRows(db)

    def memory(self, memory_id: str) -> Memory | None:
        from memsweep.store.rows import Show
        from memsweep.store.sqlite.rows import SqliteRows
        from memsweep.store.views import WHOLE, memory_of

        with self._pool.reading() as db:
            (found,) = SqliteRows(db).ask(Show(WHOLE, (("id", "=", memory_id),)))
            if not found:
                return None
            (shown,) = found
            key = shown["key"]
            return memory_of(
                shown,
                one(db, sql.COUNT_CHUNKS_OF, (key,)),
                things=db.execute(sql.ENTITIES_OF_MEMORY, (key,)),
                changes=row(db, revision_sql.COUNT_OF_MEMORY, (key,)),
                older=db.execute(superseding_sql.OLDER, (key,)),
                newer=db.execute(superseding_sql.NEWER, (key,)),
            )

    def stats(self) -> Stats:
        from memsweep.model.memory import Stats, vector_bytes

        with self._pool.reading() as db:
            memories, chunks, entities, relations, stale, oldest, newest = row(db, sql.COUNTS)
            model = model_from(one(db, GET_META, ("model",)))
        side_files = (self.path.with_name(self.path.name + end) for end in ("", "-wal"))
        return Stats(
            workspace_id=self.workspace_id,
            total_memories=memories,
            total_chunks=chunks,
            total_entities=entities,
            total_relations=relations,
            stale_memories=stale,
            database_bytes=sum(file.stat().st_size for file in side_files if file.exists()),
            vector_bytes=vector_bytes(chunks, model, self._vectors.size_bytes()),
            engine="sqlite",
            model=model,
            oldest=moment_or_none(oldest),
            newest=moment_or_none(newest),
            warnings=tuple(f"{loss.said} Run `memsweep doctor`." for loss in commit_marker.losses(self.path)),
        )

    def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> Candidates:
        with self._pool.reading() as db:
            searching.check_dimension(db, len(vector))
            found = searching.candidates(db, self._words, self._vectors, query, vector, filters, depth)
            found.revision = self._revision(db)
            return found

    def file_words(self, query: str, most: int) -> FileWords:
        with self._pool.reading() as db:
            return searching.file_words(db, self._words, query, most)

    def statements_about(self, asked: FactWords, *, ended: bool, expired_by: int | None, limit: int) -> list[Statement]:
        with self._pool.reading() as db:
            return searching.statements_about(db, asked, ended=ended, expired_by=expired_by, limit=limit)

    def chunks(
        self, filters: Filters, *, at: Collection[Place] | None = None, limit: int = 0
    ) -> dict[int, Place | None]:
        with self._pool.reading() as db:
            return searching.chunks(db, filters, at, limit)

    def mark_seen(self, seen: Mapping[str, datetime]) -> bool:
        with self._pool.connection() as db:
            return searching.mark_seen(db, seen)

    def close(self) -> None:
        self._pool.close()


def _metadata_indexes(db: apsw.Connection) -> set[str]:
    return {name for (name,) in db.execute(metadata_sql.NAMES) if metadata_sql.definition(name)}
