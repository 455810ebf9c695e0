"""Who said memories, said them again and updated them; what they hand in with them; who says what supersedes what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from memsweep.model.memory_act import MemoryAct, Mentioned
from memsweep.model.superseding import Bases, Pair


class MentionAt(NamedTuple):
    """A mention: in which chunk of a memory, by its position, and whose it is if not the memory's own."""

    memory: int
    position: int
    chunk: int
    entity: int
    origin: int | None


class MentionRow(NamedTuple):
    chunk: int
    entity: int
    origin: int | None


class PlacedMention(NamedTuple):
    """The same in the chunk that a memory has at a position now."""

    memory: int
    position: int
    entity: int
    origin: int | None


class Link(NamedTuple):
    """That one memory supersedes another, since when, and who says so."""

    pair: Pair
    at: int
    bases: Bases


class MemoryActRows(Protocol):
    def of_origins(self, origins: Collection[int] | None) -> list[MemoryAct]:
        """But for what was taken back; of all, and of those without one, where none are named."""

    def of_memories(self, memories: Collection[int]) -> list[MemoryAct]:
        """All of them, in their order."""

    def taken_back_by(self, receipt: int) -> list[MemoryAct]: ...

    def of_receipt(self, receipt: int) -> list[MemoryAct]:
        """Those that undoing the receipt takes back."""

    def add(self, acts: Iterable[MemoryAct]) -> None: ...

    def mark(self, acts: Mapping[int, tuple[int | None, int | None]]) -> None:
        """By key: the receipt that undoes an act, and the one that took it back."""

    def free(self, receipts: Collection[int]) -> None:
        """What these have taken back leaves for good."""

    def mentions(self, memories: Collection[int]) -> list[MentionAt]:
        """In live memories those of live entities; in the trash all."""

    def own_mentions(self, memory: int) -> Mentioned: ...

    def mentioned_by(self, origins: Collection[int]) -> set[int]:
        """The live memories in which they mention something."""

    def add_mentions(self, mentions: Iterable[MentionRow]) -> None:
        """Between a live chunk and a live entity; elsewhere nothing is to be mentioned."""

    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        """Where there are none yet; the memory may be in the trash."""

    def drop_mentions(self, mentions: Iterable[tuple[int, int]]) -> None:
        """By chunk and entity."""

    def links(self) -> list[Link]:
        """Every one, also of memories in the trash."""

    def ever_superseded(self, memories: Collection[int]) -> set[int]:
        """Of these, those that a link leads from, live or not, or one that ended and waits with its receipt."""

    def set_links(self, links: Iterable[Link]) -> None:
        """Add or replace, between memories that are there."""

    def drop_links(self, pairs: Collection[Pair]) -> None: ...
