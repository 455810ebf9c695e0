"""The acts of memories; the mentions passed with them; the links by which one supersedes another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from typing import NamedTuple

from memsweep.model.graph_rows import Mention, Move
from memsweep.model.revision import MemoryAct, MemoryText, Mentioned, first_said, mentioned_in
from memsweep.model.superseding import Pair
from memsweep.store.facts import OwnedMention
from memsweep.store.journals import MemoryActs
from memsweep.store.rows import Find, Values, Where, is_in
from memsweep.store.things.graph import MentionLink
from memsweep.store.things.memories import Supersession


class MentionAt(NamedTuple):
    """A mention: in which chunk of a memory, by its position, and whose it is if not the memory's own."""

    memory: int
    position: int
    chunk: int
    entity: int
    origin: int | None


class PlacedMention(NamedTuple):
    """The same in the chunk that a memory has at a position now."""

    memory: int
    position: int
    entity: int
    origin: int | None


class MemoryActRows(MemoryActs):
    """The acts, and what an engine keeps as links."""

    def mentions(self, memories: Collection[int]) -> list[MentionAt]:
        """Return those in live memories of live entities; in the trash all."""
        columns = ("chunk.memory", "chunk.position", "chunk", "entity", "origin", "chunk.trash", "entity.trash")
        (found,) = self._rows.ask(Values(MentionLink, columns, (("chunk.memory", "in", memories),), "any"))
        return [MentionAt(*row) for *row, trash, end in found if trash is not None or end is None]

    def own_mentions(self, memory: int) -> Mentioned:
        """Return the mentions of a live memory that are its own."""
        own: tuple[Where, ...] = (("chunk.memory", "=", memory), ("origin", "null", None))
        columns = ("chunk.position", "entity", "entity.name", "chunk.text")
        return mentioned_in(self._rows.ask(Values(MentionLink, columns, own, near="live"))[0])

    def before(self, memory: MemoryText, text: str) -> tuple[list[MemoryAct], MemoryAct]:
        """Return the acts on a memory so far, and the first statement of it if that was not written down."""
        known = self.of_memories([memory.key])
        return known, first_said(memory, text, Mentioned() if known else self.own_mentions(memory.key))

    @abstractmethod
    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        """Add mentions where there are none yet; the memory may be in the trash."""

    def mentioned_by(self, origins: Collection[int]) -> set[int]:
        """The live memories in which they mention something."""
        (found,) = self._rows.ask(Values(MentionLink, ("chunk.memory",), (("origin", "in", origins),), distinct=True))
        return {memory for (memory,) in found}

    def add_mentions(self, mentions: Iterable[OwnedMention]) -> None:
        """Between pieces and entities that are there, in the trash or not; one that is there stays whose it is."""
        self._rows.put([*mentions], replace=False)

    def drop_mentions(self, mentions: Iterable[tuple[int, int]]) -> None:
        """By chunk and entity."""
        self._rows.drop(Mention, mentions)

    def links(self) -> list[Supersession]:
        """Return the links between memories, also in the trash."""
        return self._rows.ask(Find(Supersession, (), "any", order=("old", "new")))[0]

    def ever_superseded(self, memories: Collection[int]) -> set[int]:
        """Of these, those that a link leads from, live or not, or one that ended and waits with its receipt."""
        ended = (("kind", "=", "link"), *is_in("a", memories))
        here = Values(Supersession, ("old",), is_in("old", memories), "any", distinct=True)
        found = self._rows.ask(here, Values(Move, ("a",), ended, "any", distinct=True))
        return {key for rows in found for (key,) in rows}

    def set_links(self, links: Iterable[Supersession]) -> None:
        """Add or replace, between memories that are there."""
        self._rows.put([*links], replace=True)

    def drop_links(self, pairs: Collection[Pair]) -> None:
        self._rows.drop(Supersession, sorted(pairs))
