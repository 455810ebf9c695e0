"""Entities and relations as rows, live or in the trash."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from memsweep.model.graph_rows import RelationChange, RelationRecord, Source
from memsweep.model.merging import Place
from memsweep.store.records import Entities


class EntityRows(Entities):
    """Entities, and what an engine keeps as links."""

    @abstractmethod
    def find(self, name_or_id: str) -> int | None:
        """The live entity of that id or name; of several the one that is surest."""

    @abstractmethod
    def mentioned_by(self, memories: Collection[int]) -> set[int]:
        """Entities in the trash that memories in the trash mention."""

    @abstractmethod
    def trash(self, keys: Collection[int], receipt: int) -> None: ...

    @abstractmethod
    def hand_on(self, receipts: Mapping[int, int]) -> None:
        """Entities in the trash are held by other receipts."""


class RelationRows(Protocol):
    def at(self, keys: Collection[int]) -> list[RelationRecord]: ...

    def by_id(self, ids: Collection[str]) -> list[RelationRecord]:
        """The live ones."""

    def touching(self, entities: Collection[int], besides: int = 0) -> list[RelationRecord]:
        """Those that begin or end there, but for what one receipt holds."""

    def current_at(self, entity: int, kinds: Collection[str]) -> list[RelationRecord]: ...

    def current_between(self, places: Collection[Place]) -> list[RelationRecord]: ...

    def trashed_by(self, receipts: Collection[int]) -> list[RelationRecord]: ...

    def stated_by(self, memories: Collection[int], besides: int = 0) -> list[RelationRecord]:
        """Those in the trash that memories in the trash state, but for what one receipt holds."""

    def sources(self, relations: Collection[int]) -> list[Source]: ...

    def needed_by(self, relations: Collection[int], besides: Collection[int]) -> dict[int, int]:
        """Those that memories in the trash of other receipts state, and the last of those receipts."""

    def write(self, changes: Iterable[RelationChange]) -> None: ...

    def restore(self, keys: Collection[int]) -> None: ...

    def trash(self, receipts: Mapping[int, int]) -> None:
        """Live ones go to the trash of these receipts."""

    def hand_on(self, receipts: Mapping[int, int]) -> None:
        """Those in the trash are held by other receipts."""
