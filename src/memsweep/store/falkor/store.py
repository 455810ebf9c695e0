"""One workspace in one graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import TypeVar

from memsweep.model.memory import EmbeddingModel, Memory, Stats, vector_bytes
from memsweep.model.search import (
    Candidates,
    FactWords,
    FileWords,
    Filters,
    Place,
    Statement,
)
from memsweep.model.times import moment_or_none, to_micros
from memsweep.model.workspace import model_from
from memsweep.store.falkor import (
    cypher,
    metadata_index,
    revision_cypher,
    searching,
    superseding_cypher,
)
from memsweep.store.falkor.code import FalkorCodeFiles
from memsweep.store.falkor.collector import FalkorChanges, FalkorReads, changing, rewrite
from memsweep.store.falkor.keeper import FalkorKeeper
from memsweep.store.falkor.overview import FalkorOverview
from memsweep.store.falkor.rows import FalkorRows, queries_ahead, queries_of, viewed
from memsweep.store.falkor.surveying import at_one_moment
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.protocol import Store
from memsweep.store.rows import Read, Show
from memsweep.store.views import WHOLE, memory_of

R = TypeVar("R")


class FalkorStore(Store):
    """Implements `memsweep.store.protocol.Store`."""

    code: FalkorCodeFiles
    overview: FalkorOverview
    rows: FalkorRows
    keeper: FalkorKeeper

    def __init__(self, workspace_id: str, graph: GraphHandle) -> None:
        self.workspace_id = workspace_id
        self._graph = graph
        self.rows = FalkorRows(graph)
        self._vectors = VectorSet(graph)
        self._indexed: tuple[str, ...] | None = None
        self._ranking = searching.WordRanking(graph)
        self.code = FalkorCodeFiles(graph, self._vectors)
        self.overview = FalkorOverview(graph)
        self.keeper = FalkorKeeper(workspace_id, graph, self._vectors)

    @contextmanager
    def reading(self) -> Iterator[FalkorReads]:
        yield FalkorReads(self._graph)

    def changing(
        self, seconds: float | None = None, *, ahead: Sequence[Read] = ()
    ) -> AbstractContextManager[FalkorChanges]:
        return changing(self._graph, self._vectors, seconds, ahead)

    def at_one_moment(self, read: Callable[[FalkorReads], R]) -> R:
        return at_one_moment(self._graph, lambda asked: read(FalkorReads(asked)))

    def wipe(self, done: str, *, freed: bool = True) -> list[str]:
        """Take the vectors of what was freed out of the set, and all of it out of what the server has on its disk."""
        self._vectors.dismiss(self._graph.seen["generation"])
        return rewrite(self._graph.link, self._graph.name) if freed else []

    def model(self) -> EmbeddingModel | None:
        """As it was when the workspace was opened, which everything begins with, or looked at since."""
        return model_from(self._graph.seen.get("model"))

    def keep_metadata_index(self, paths: tuple[str, ...]) -> None:
        if self._indexed != paths:
            if set(self._graph.seen.get("metadata_index") or ()) != set(paths):
                metadata_index.keep(self._graph, paths)
            self._indexed = paths

    def change_number(self) -> str:
        ((number,),) = self._graph.ask(cypher.REVISION)
        return f"{self._graph.name.rpartition(':')[2]}-{number}"

    @contextmanager
    def writing(self, ahead: Iterable[Read] = ()) -> Iterator[FalkorRows]:
        asked, reads = self._vectors.ahead()
        with self._graph.writing(ahead=[*queries_ahead(self._graph, ahead), *asked], reads=reads) as tx:
            followed = self._vectors.follow(tx)
            yield FalkorRows(tx)
        self._vectors.leave(followed, tx.new_vectors)

    def memory(self, memory_id: str) -> Memory | None:
        whole = queries_of(Show(WHOLE, (("id", "=", memory_id),)))
        chain = superseding_cypher.OLDER, superseding_cypher.NEWER
        beside = (cypher.CHUNKS_OF_MEMORY, cypher.ENTITIES_OF_MEMORY, revision_cypher.COUNT_OF_MEMORY, *chain)
        found, chunks, things, changes, older, newer = self._graph.ask_all(
            *whole, *((query, {"id": memory_id}) for query in beside)
        )
        if not found:
            return None
        revised = tuple(changes[0]) if changes else (0, None)
        shown = viewed(WHOLE)[2](found[0])
        return memory_of(shown, chunks[0][0], things=things, changes=revised, older=older, newer=newer)

    def stats(self) -> Stats:
        counted = (cypher.COUNT_MEMORIES, cypher.COUNT_CHUNKS, cypher.COUNT_ENTITIES, cypher.COUNT_RELATIONS)
        (memories, *span), *others = (
            rows[0] for rows in self._graph.ask_all(*((query, {}) for query in (*counted, cypher.COUNT_STALE)))
        )
        chunks, entities, relations, stale = (row[0] for row in others)
        meta = self._graph.meta()
        model = model_from(meta.get("model"))
        oldest, newest = (moment_or_none(at) for at in span)
        return Stats(
            workspace_id=self.workspace_id,
            total_memories=memories,
            total_chunks=chunks,
            total_entities=entities,
            total_relations=relations,
            stale_memories=stale,
            database_bytes=self._graph.size_bytes(),
            vector_bytes=vector_bytes(chunks, model, self._vectors.size_bytes(meta["generation"])),
            engine="falkor",
            model=model,
            oldest=oldest,
            newest=newest,
        )

    def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> Candidates:
        return searching.candidates(self._graph, self._ranking, self._vectors, query, vector, filters, depth)

    def file_words(self, query: str, most: int) -> FileWords:
        return searching.file_words(self._graph, self._ranking, query, most)

    def revision(self) -> str:
        return f"{self._graph.name}.{self._graph.meta()['revision']}"

    def statements_about(self, asked: FactWords, *, ended: bool, expired_by: int | None, limit: int) -> list[Statement]:
        return searching.statements_about(self._graph, asked, ended=ended, expired_by=expired_by, limit=limit)

    def chunks(
        self, filters: Filters, *, at: Collection[Place] | None = None, limit: int = 0
    ) -> dict[int, Place | None]:
        return searching.chunks(self._graph, filters, at, limit)

    def mark_seen(self, seen: Mapping[str, datetime]) -> bool:
        self._graph.mark(cypher.MARK_SEEN, seen=[[memory_id, to_micros(at)] for memory_id, at in seen.items()])
        return True

    def close(self) -> None:
        """Connections belong to the engine."""
