"""One workspace in one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from memsweep.model.code import CodeTotals, FileWrite, KnownFile, RunEnd
from memsweep.model.memory import (
    EmbeddingModel,
    Memory,
    MemoryDraft,
    NewMemory,
    Remembered,
    Stats,
    vector_bytes,
)
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.search import Candidate, FactWords, Filters, HeldBack, Kind, Owner, Passage, Place, Statement
from memsweep.model.times import moment_or_none, to_micros
from memsweep.store.falkor import (
    candidates,
    code,
    cypher,
    gc_cypher,
    origins,
    reembedding,
    repeats,
    revision_cypher,
    searching,
    superseding_cypher,
    words,
    writing,
)
from memsweep.store.falkor.collector import FalkorCollector
from memsweep.store.falkor.graph import FalkorGraph
from memsweep.store.falkor.keeper import FalkorKeeper
from memsweep.store.falkor.overview import FalkorOverview
from memsweep.store.falkor.ranking import Ranking
from memsweep.store.falkor.segments import FalkorSegments
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.whole_graph import FalkorWholeGraph
from memsweep.store.memory_row import memory_of
from memsweep.store.ports.memories import Embed
from memsweep.store.refusals import other_query_model


class FalkorStore:
    """Implements `memsweep.store.protocol.Store`."""

    def __init__(self, workspace_id: str, graph: GraphHandle) -> None:
        self.workspace_id = workspace_id
        self._graph = graph
        self._vectors = VectorSet(graph)
        self._ranking = Ranking(graph)
        self.collector = FalkorCollector(graph, self._vectors)
        self.segments = FalkorSegments(graph)
        self.graph = FalkorGraph(graph)
        self.whole_graph = FalkorWholeGraph(graph)
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
        look = self._vectors.look()
        ahead = [*writing.about(new), *origins.about(self._graph, new.origin), look.lacking]
        with self._graph.writing(ahead=ahead, reads=look.commands) as tx:
            self._vectors.follow(tx)
            return repeats.add_to_existing(tx, new) or writing.add(tx, new, model)

    def memory(self, memory_id: str) -> Memory | None:
        of_itself = (cypher.GET_MEMORY, cypher.ENTITIES_OF_MEMORY, revision_cypher.COUNT_OF_MEMORY)
        asked = (*of_itself, superseding_cypher.OLDER, superseding_cypher.NEWER)
        found, things, changes, older, newer = self._graph.ask_all(*((query, {"id": memory_id}) for query in asked))
        if not found:
            return None
        tags = found[0][3]
        revised = tuple(changes[0]) if changes else (0, None)
        return memory_of(found[0], tags, things=things, changes=revised, older=older, newer=newer)

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
        known = self.model()
        if known is not None and known.dimension != len(vector):
            raise other_query_model(known)
        return candidates.candidates(self._graph, self._ranking, self._vectors, query, vector, filters, depth)

    def revision(self, *, now: bool) -> str:
        if now:
            self._graph.meta()
        return f"{self._graph.name}.{self._graph.seen.get('revision')}"

    def smaller_kind(self) -> Kind | None:
        return searching.smaller_kind(self._graph)

    def statements_about(self, asked: FactWords, *, ended: bool, limit: int) -> list[Statement]:
        return searching.statements_about(self._graph, asked, ended=ended, limit=limit)

    def newest(self, filters: Filters, limit: int) -> list[Candidate]:
        return searching.newest(self._graph, filters, limit)

    def at_places(self, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
        return searching.at_places(self._graph, places, filters)

    def owners(self, keys: Sequence[int]) -> dict[int, Owner]:
        return searching.owners(self._graph, keys)

    def count_held_back(self, back: HeldBack) -> int:
        return searching.count_held_back(self._graph, back)

    def passages(self, keys: Sequence[int]) -> dict[int, Passage]:
        return searching.passages(self._graph, keys)

    def unreadable(self, keys: Sequence[int]) -> int:
        return searching.unreadable(self._graph, keys) if keys else 0

    def mark_seen(self, seen: Mapping[str, datetime]) -> bool:
        self._graph.mark(cypher.MARK_SEEN, seen=[[memory_id, to_micros(at)] for memory_id, at in seen.items()])
        return True

    def matched_words(self, query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
        return words.matched(query, texts)

    def code_roots(self) -> list[str]:
        return code.roots(self._graph)

    def code_files(self, root: str) -> list[KnownFile]:
        return code.known_files(self._graph, root)

    def chunk_hashes(self, memory_ids: Sequence[str]) -> dict[str, set[bytes]]:
        return code.chunk_hashes(self._graph, memory_ids)

    def tombstoned(self, hashes: Sequence[bytes]) -> set[bytes]:
        rows = self._graph.ask(gc_cypher.TOMBSTONED, hashes=[digest.hex() for digest in hashes])
        return {bytes.fromhex(digest) for (digest,) in rows}

    def write_files(
        self,
        root: str,
        files: Sequence[FileWrite],
        model: EmbeddingModel,
        now: datetime,
        new_id: Callable[[str], str],
        origin: Origin = UNKNOWN,
    ) -> None:
        dropped: list[int] = []
        with self._writing_vectors() as tx:
            writing.claim_model(tx, model)
            dropped += code.write_files(tx, root, files, to_micros(now), new_id, origin)
            self._vectors.announce(tx.meta["generation"], dropped)
        if dropped:
            self._vectors.dismiss(tx.meta["generation"])

    def end_run(self, run: RunEnd, now: datetime) -> None:
        with self._graph.writing() as tx:
            code.end_run(tx, run, now)

    def code_totals(self, root: str) -> CodeTotals:
        return code.totals(self._graph, root)

    def unstaged(self, model: EmbeddingModel, limit: int) -> list[tuple[int, str]]:
        self._begin_stage(model)
        with self._graph.writing() as tx:
            return reembedding.unstaged(tx, limit)

    def stage_vectors(self, vectors: Iterable[tuple[int, bytes]], model: EmbeddingModel) -> None:
        self._begin_stage(model)
        with self._graph.writing() as tx:
            reembedding.stage(tx, vectors)

    def switch_model(self, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
        self._begin_stage(model)
        before = self._graph.meta()["generation"]
        with self._writing_vectors() as tx:
            missing = reembedding.switch(tx, model, embed, at_most)
        if missing == 0:
            self._vectors.forget(before)
        return missing

    def close(self) -> None:
        """Connections belong to the engine."""

    def _begin_stage(self, model: EmbeddingModel) -> None:
        if not reembedding.begun(self._graph.meta().get("staged_model"), model):
            with self._graph.writing() as tx:
                reembedding.start(tx, model)

    @contextmanager
    def _writing_vectors(self) -> Iterator[Transaction]:
        """A transaction that may bring new vectors: they are in the set before the next writer's turn."""
        with self._graph.writing(afterwards=lambda meta: self._vectors.catch_up(meta["generation"])) as tx:
            yield tx
