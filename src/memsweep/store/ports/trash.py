"""Memories, chunks and context windows in the trash: what comes back, and what is freed for good."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from memsweep.model.selection import Selection


class Clash(NamedTuple):
    """A memory in the trash, and one that took its place meanwhile."""

    key: int
    id: str
    other_id: str


class SameText(NamedTuple):
    """A memory in the trash, and a live one that says the same."""

    key: int
    id: str
    other_id: str
    other: int


class Clashes(NamedTuple):
    files: list[Clash]
    """Those whose file is that of a live memory."""
    texts: list[SameText]
    """Those whose text a live memory of the same thread has; code is known by its file."""


class TrashedChunk(NamedTuple):
    key: int
    memory: int | None
    memory_lives: bool


class TrashRows(Protocol):
    def find(self, item_id: str) -> tuple[str, int] | None:
        """Whether it is a memory, an entity or a relation in the trash, and its key."""

    def held_by(self, receipts: Collection[int]) -> Selection:
        """Everything that these receipts hold."""

    def holders(self, held: Selection) -> list[tuple[int, str]]:
        """Of memories and entities in the trash: the receipt that holds each, and its id."""

    def memories_of(self, receipt: int) -> list[int]: ...

    def clashes(self, memories: Collection[int]) -> Clashes: ...

    def chunks_of(self, receipt: int) -> list[TrashedChunk]: ...

    def chunks_with(self, memories: Collection[int]) -> list[int]:
        """The chunks of memories in the trash that went there with them."""

    def named_by_plans(self, held: Iterable[tuple[int, int]]) -> set[int]:
        """Of relations, each with the receipt that holds it, those that the plan of that receipt named."""

    def restore(self, back: Selection) -> None:
        """Memories, chunks and entities are live again, and so are mentions between what is live; not relations."""

    def hand_over(self, namesakes: Mapping[int, int]) -> None:
        """Mentions, relations in the trash and other names of one entity are those of another, which is live."""

    def free(self, gone: Selection) -> None:
        """Rows leave for good, with all that only they needed."""

    def forget_plans(self, plan_ids: Collection[str]) -> None:
        """Drop what was in these plans."""
