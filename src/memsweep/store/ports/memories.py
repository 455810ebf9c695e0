"""Memories, one by one, and their vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memsweep.model.memory import EmbeddingModel, Memory, MemoryDraft, NewMemory, Remembered, Stats
from memsweep.model.origin import UNKNOWN, Origin

Embed = Callable[[Sequence[str]], list[bytes]]


class Memories(Protocol):
    """The memories of a workspace."""

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


class Reembedding(Protocol):
    """Another embedding model: vectors are staged beside the current ones, then take their place."""

    def unstaged(self, model: EmbeddingModel, limit: int) -> list[tuple[int, str]]:
        """Chunks that have no vector of this model yet: the work list of a re-embedding."""

    def stage(self, vectors: Iterable[tuple[int, bytes]], model: EmbeddingModel) -> None:
        """Keep vectors of another model beside the current ones."""

    def switch(self, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
        """Make the staged vectors the current ones; of those missing, `at_most` are embedded on the spot.

        Returns how many are missing if they are more, and changes nothing then.
        """
