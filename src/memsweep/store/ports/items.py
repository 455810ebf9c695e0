"""The rows that plans speak of: memories, chunks, entities and relations by their keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from memsweep.model.distinctive_words import WordGroups
from memsweep.model.plan import Kind, Survey

Keys = Mapping[Kind, Collection[int]]


class LiveRow(NamedTuple):
    version: int
    pinned: bool
    belongs_to: tuple[int, ...] = ()
    """The entities that a relation is between; the memory of a chunk, if there is one."""


class Around(NamedTuple):
    """The holders of entities: live memories that mention them, and live relations with their ends."""

    mentions: Sequence[tuple[int, int]] = ()
    """Entity and memory."""
    relations: Sequence[tuple[int, int, int]] = ()


class Described(NamedTuple):
    """A row as people know it, live or in the trash; what its kind does not have is empty."""

    id: str = ""
    name: str = ""
    created_at: int | None = None
    length: int = 0
    root: str | None = None
    path: str | None = None
    chunks: int = 0
    type: str | None = None
    ends: tuple[str, str] | None = None
    """Of a relation: the ids of the entities it is between."""
    end_names: tuple[str, str] = ("", "")


class ItemReads(Protocol):
    def survey(self, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
        """Return all that the strategies must see, at one moment."""

    def find(self, item_id: str) -> tuple[Kind, int, str | None] | None:
        """The kind and the key of a memory or an entity, and the receipt that holds it if it is in the trash."""

    def describe(self, wanted: Keys) -> dict[tuple[Kind, int], Described]: ...

    def texts(self, memories: Collection[int]) -> dict[int, str]:
        """The texts of those that are live."""

    def around(self, entities: Collection[int]) -> Around: ...

    def relations_at(self, entities: Collection[int]) -> set[int]:
        """Live relations that begin or end at one of these."""

    def survey_of(self, memories: Collection[int], entities: Collection[int] = ()) -> Survey:
        """Of a survey what is about these alone: the rows, the chunks of the memories and what superseded them or was
        superseded by them; the relations at the entities, and which memories mention them or state these."""

    def same_text(self, memories: Collection[int]) -> set[int]:
        """Live memories with the text of one of these."""

    def count(self, kinds: Sequence[Kind]) -> dict[Kind, int]:
        """Return how many are live."""

    def count_words(self, words: Collection[str]) -> dict[str, int]:
        """Return how many chunks have each of these words, as the full text sees it."""

    def with_any_word(self, words: Collection[str]) -> set[int]:
        """Live memories, no files of code, of which a chunk has one of these words."""

    def with_words(self, words: WordGroups) -> set[int]:
        """Live memories, no files of code, of which a chunk has these words."""

    def in_pieces(self, words: Collection[str]) -> set[int]:
        """Live memories of several chunks, no files of code, of which a chunk has one of these words."""

    def sources(self, relations: Collection[int]) -> list[tuple[int, int]]:
        """These relations, each with every live memory that states it."""


class ItemRows(ItemReads, Protocol):
    def live(self, wanted: Keys) -> dict[tuple[Kind, int], LiveRow]:
        """Return those of these that are live; chunks have no version."""

    def last_seen(self, memories: Collection[int]) -> dict[int, int]:
        """When those that are live were last seen, as a survey says it."""

    def superseded(self, memories: Collection[int]) -> set[int]:
        """Return those of these that a live memory supersedes."""

    def ids(self, wanted: Keys) -> dict[tuple[Kind, int], str]:
        """Their ids, live or in the trash."""

    def chunks_of(self, memories: Collection[int]) -> list[int]: ...

    def stated_by(self, memories: Collection[int]) -> list[tuple[int, bool]]:
        """Live relations that these memories state, and whether they stand by themselves, too."""

    def pin(self, kind: Kind, key: int, pinned: bool) -> None: ...
