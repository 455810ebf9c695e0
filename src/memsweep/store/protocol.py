"""The protocol of a workspace: what an engine does in one, with a port for every feature."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol

from memsweep.model.memory import EmbeddingModel, Memory, MemoryDraft, NewMemory, Remembered, Stats
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.search import Candidates, FactWords, FileWords, Filters, Place, Statement
from memsweep.store.code_files import CodeFiles
from memsweep.store.graph import Graph
from memsweep.store.ports.care import Keeper
from memsweep.store.ports.collector import Collector
from memsweep.store.ports.overview import Overview
from memsweep.store.rows import RowReads
from memsweep.store.windows import Windows


class Store(Protocol):
    """One workspace. Every write is one transaction; every read sees no trash."""

    @property
    def workspace_id(self) -> str: ...

    def change_number(self) -> str:
        """Another text after every transaction that changes something, whoever made it; one cheap read."""

    def revision(self) -> str:
        """Another text whenever what can be found has changed."""

    @property
    def rows(self) -> RowReads: ...

    def model(self) -> EmbeddingModel | None:
        """The model of this workspace's vectors, or None before the first one."""

    def touch_existing(
        self, draft: MemoryDraft, content_hash: bytes, now: datetime, origin: Origin = UNKNOWN
    ) -> str | None:
        """If the same text is known in the same thread: mark it seen, unite its tags, return its id."""

    def add(self, new: NewMemory, model: EmbeddingModel) -> Remembered:
        """Write a memory with all that belongs to it, or touch the one with the same text and add the rest to it."""

    def memory(self, memory_id: str) -> Memory | None: ...

    def mark_seen(self, seen: Mapping[str, datetime]) -> bool:
        """Note when memories were read, if that was later than what is known; False if somebody writes just now.

        Neither a change nor an event: no version, no revision, no audit, no waiting. Where nothing may be written,
        nothing happens.
        """

    def stats(self) -> Stats: ...

    def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> Candidates:
        """The `depth` best chunks by words and by meaning, each with both scores; an engine may hand in more."""

    def chunks(
        self, filters: Filters, *, at: Collection[Place] | None = None, limit: int = 0
    ) -> dict[int, Place | None]:
        """Return the live chunks that pass, by key with their places: those at some places, or the newest, in order."""

    def file_words(self, query: str, most: int) -> FileWords:
        """The rarest words of a query in live files of code: as many of them as stand in `most` chunks in all."""

    def statements_about(self, asked: FactWords, *, ended: bool, expired_by: int | None, limit: int) -> list[Statement]:
        """Facts of which an end or the relation is asked for: those first of which most parts are, then the newest.

        What only code says is left out: it is found as code; so is what only memories say that had expired by a moment.
        `ended`: facts that hold no more are wanted, too."""

    @property
    def code(self) -> CodeFiles: ...

    @property
    def collector(self) -> Collector: ...

    @property
    def windows(self) -> Windows: ...

    @property
    def graph(self) -> Graph: ...

    @property
    def overview(self) -> Overview: ...

    @property
    def keeper(self) -> Keeper: ...

    def close(self) -> None: ...
