"""What an engine does for the rest of the house. The features know these protocols and no engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from memsweep.model.memory import Draft, EmbeddingModel, Memory, NewMemory, Remembered, Stats, Workspace
from memsweep.model.search import Candidate, Filters, Passage, Place


class Store(Protocol):
    """One workspace. Every write is one transaction; every read sees no trash."""

    @property
    def workspace_id(self) -> str: ...

    def model(self) -> EmbeddingModel | None:
        """The model of this workspace's vectors, or None before the first one."""

    def touch_twin(self, draft: Draft, content_hash: bytes, now: datetime) -> str | None:
        """If the same text is known in the same thread: mark it seen, unite its tags, return its id."""

    def add(self, new: NewMemory, model: EmbeddingModel) -> Remembered:
        """Write a memory with all that belongs to it, or touch its twin."""

    def memory(self, memory_id: str) -> Memory | None: ...

    def stats(self) -> Stats: ...

    def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> list[Candidate]:
        """The `depth` best chunks by words and the `depth` best by meaning, each with both scores."""

    def newest(self, filters: Filters, limit: int) -> list[Candidate]:
        """The newest chunks: the answer to a query without words."""

    def at_places(self, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
        """The keys of the live chunks at these places that pass the filters."""

    def passages(self, keys: Sequence[int]) -> dict[int, Passage]: ...

    def matched_words(self, query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """For each text, the words of the query that it contains, as the full-text index sees them."""

    def unstaged(self, model: EmbeddingModel, limit: int) -> list[tuple[int, str]]:
        """Chunks that have no vector of this model yet: the work list of a re-embedding."""

    def stage_vectors(self, vectors: Iterable[tuple[int, bytes]], model: EmbeddingModel) -> None:
        """Keep vectors of another model beside the current ones."""

    def switch_model(self, model: EmbeddingModel) -> int:
        """Make the staged vectors the current ones if none is missing; return how many are missing."""

    def close(self) -> None: ...


class Engine(Protocol):
    """All workspaces of one home."""

    def workspaces(self) -> list[Workspace]: ...

    def create(self, workspace_id: str, description: str, now: datetime) -> Workspace:
        """A new workspace, or `AlreadyExists`."""

    def delete(self, workspace_id: str, now: datetime) -> None:
        """Take a workspace out of sight; its data is kept aside."""

    def open(self, workspace_id: str) -> Store:
        """An existing workspace, or `UnknownWorkspace`."""

    def open_or_create(self, workspace_id: str, now: datetime) -> Store:
        """A workspace to write to: the first write creates it."""

    def close(self) -> None: ...
