"""Memories that change in place, and the revisions that say what they were before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memsweep.model.memory import EmbeddingModel, NewMemory
from memsweep.model.origin import Origin
from memsweep.model.revision import MemoryText, Piece


class TextReads(Protocol):
    """Memories and their chunks, live or in the trash."""

    def model(self) -> EmbeddingModel | None:
        """The one of the workspace's vectors."""

    def at(self, memories: Collection[int]) -> dict[int, MemoryText]: ...

    def pieces(self, memories: Collection[int]) -> dict[int, list[Piece]]:
        """In the order of their positions."""

    def since(self, at: datetime) -> list[MemoryText]:
        """Those that were written or changed at that moment or later, but for files of code."""

    def page(self, after: int, limit: int) -> list[MemoryText]:
        """So many beyond a key, in the order of their keys."""


class TextRows(TextReads, Protocol):
    def duplicate_of(self, memory: MemoryText, besides: Collection[int] = ()) -> str | None:
        """The id of another live memory with the same text in the same thread; code is known by its file."""

    def tombstoned(self, texts: Sequence[str]) -> set[str]:
        """Those of these texts that were forgotten for good, whatever their letter case and white space."""

    def write(self, memory: MemoryText, pieces: Sequence[Piece] | None) -> list[int]:
        """A memory in another form; with `pieces` these take the place of its chunks. Their keys."""

    def origin_key(self, origin: Origin) -> int | None:
        """What memories refer to it by."""

    def read_again(self, memories: Collection[int]) -> None:
        """Files of code that the next run of the index reads, changed or not."""

    def name(self, memory: int, chunks: Mapping[int, str], new: NewMemory) -> list[str]:
        """The names that new chunks speak of, given with their texts; the ids of new entities."""
