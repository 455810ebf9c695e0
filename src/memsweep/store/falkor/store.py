"""One workspace in one graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memsweep.model.memory import EmbeddingModel, Memory, MemoryDraft, NewMemory, Remembered, Stats, vector_bytes
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.search import (
    Candidate,
    FactWords,
    FileWords,
    Filters,
    Kind,
    Owner,
    Passages,
    Place,
    Statement,
)
from memsweep.model.times import moment_or_none, to_micros
from memsweep.store.falkor import (
    candidates,
    cypher,
    gc_cypher,
    origins,
    repeats,
    revision_cypher,
    searching,
    superseding_cypher,
    words,
    writing,
)
from memsweep.store.falkor.code import FalkorCodeFiles
from memsweep.store.falkor.collector import FalkorCollector
from memsweep.store.falkor.graph import FalkorGraph
from memsweep.store.falkor.keeper import FalkorKeeper
from memsweep.store.falkor.overview import FalkorOverview
from memsweep.store.falkor.ranking import WordRanking
from memsweep.store.falkor.rows import queries_of, viewed
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.windows import FalkorWindows
from memsweep.store.rows import Show
from memsweep.store.views import WHOLE, memory_of


class FalkorStore:
    """Implements `memsweep.store.protocol.Store`."""

    def __init__(self, workspace_id: str, graph: GraphHandle) -> None:
        self.workspace_id = workspace_id
        self._graph = graph
        self._vectors = VectorSet(graph)
        self._ranking = WordRanking(graph)
        self.code = FalkorCodeFiles(graph, self._vectors)
        self.collector = FalkorCollector(graph, self._vectors)
        self.windows = FalkorWindows(graph)
        self.graph = FalkorGraph(graph)
        self.overview = FalkorOverview(graph)
        self.keeper = FalkorKeeper(workspace_id, graph, self._vectors)

    def model(self) -> EmbeddingModel | None:
        """As it was when the workspace was opened, which everything begins with, or looked at since."""
        return writing.model_of(self._graph.seen)

    def change_number(self) -> str:
        ((number,),) = self._graph.ask(gc_cypher.REVISION)
        return f"{self._graph.name.rpartition(':')[2]}-{number}"

    def touch_existing(
        self, draft: MemoryDraft, content_hash: bytes, now: datetime, origin: Origin = UNKNOWN
    ) -> str | None:
        if not self._graph.ask(cypher.KNOWS_HASH, hash=content_hash.hex()):
            return None
        with self._graph.writing() as tx:
            return repeats.touch_existing(tx, draft, content_hash, now, origin)

    def add(self, new: NewMemory, model: EmbeddingModel) -> Remembered:
        asked, reads = self._vectors.ahead()
        ahead = [*writing.about(new), *origins.about(self._graph, new.origin), *asked]
        with self._graph.writing(ahead=ahead, reads=reads) as tx:
            followed = self._vectors.follow(tx)
            done = repeats.add_to_existing(tx, new) or writing.add(tx, new, model)
        self._vectors.leave(followed, tx.new_vectors)
        return done

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
        model = writing.model_of(meta)
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

    def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> list[Candidate]:
        return candidates.candidates(self._graph, self._ranking, self._vectors, query, vector, filters, depth)

    def file_words(self, query: str, most: int) -> FileWords:
        return searching.file_words(self._graph, self._ranking, query, most)

    def revision(self, *, now: bool) -> str:
        if now:
            self._graph.meta()
        return f"{self._graph.name}.{self._graph.seen.get('revision')}"

    def smaller_kind(self) -> Kind | None:
        return searching.smaller_kind(self._graph)

    def statements_about(self, asked: FactWords, *, ended: bool, expired_by: int | None, limit: int) -> list[Statement]:
        return searching.statements_about(self._graph, asked, ended=ended, expired_by=expired_by, limit=limit)

    def newest(self, filters: Filters, limit: int) -> list[Candidate]:
        return searching.newest(self._graph, filters, limit)

    def at_places(self, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
        return searching.at_places(self._graph, places, filters)

    def owners(self, keys: Sequence[int]) -> dict[int, Owner]:
        return searching.owners(self._graph, keys)

    def passages(self, keys: Sequence[int]) -> Passages:
        return searching.passages(self._graph, keys)

    def mark_seen(self, seen: Mapping[str, datetime]) -> bool:
        self._graph.mark(cypher.MARK_SEEN, seen=[[memory_id, to_micros(at)] for memory_id, at in seen.items()])
        return True

    def matched_words(self, query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
        return words.matched(query, texts)

    def close(self) -> None:
        """Connections belong to the engine."""
