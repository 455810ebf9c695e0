"""Who said memories, said them again and updated them; what they hand in with them; who says what supersedes what."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from typing import NamedTuple

from memsweep.model.memory_act import Mentioned
from memsweep.model.superseding import Bases, Pair
from memsweep.store.journals import MemoryActs


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


class MemoryActRows(MemoryActs):
    """The acts, and what an engine keeps as links."""

    @abstractmethod
    def mentions(self, memories: Collection[int]) -> list[MentionAt]:
        """In live memories those of live entities; in the trash all."""

    @abstractmethod
    def own_mentions(self, memory: int) -> Mentioned: ...

    @abstractmethod
    def mentioned_by(self, origins: Collection[int]) -> set[int]:
        """The live memories in which they mention something."""

    @abstractmethod
    def add_mentions(self, mentions: Iterable[MentionRow]) -> None:
        """Between a live chunk and a live entity; elsewhere nothing is to be mentioned."""

    @abstractmethod
    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        """Where there are none yet; the memory may be in the trash."""

    @abstractmethod
    def drop_mentions(self, mentions: Iterable[tuple[int, int]]) -> None:
        """By chunk and entity."""

    @abstractmethod
    def links(self) -> list[Link]:
        """Every one, also of memories in the trash."""

    @abstractmethod
    def ever_superseded(self, memories: Collection[int]) -> set[int]:
        """Of these, those that a link leads from, live or not, or one that ended and waits with its receipt."""

    @abstractmethod
    def set_links(self, links: Iterable[Link]) -> None:
        """Add or replace, between memories that are there."""

    @abstractmethod
    def drop_links(self, pairs: Collection[Pair]) -> None: ...
