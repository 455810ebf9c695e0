"""What origins brought, and what made facts what they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from memsweep.model.contribution import Contribution, FactState
from memsweep.model.origin import Origin


class BroughtMemory(NamedTuple):
    key: int
    source: str
    created_at: int


class StoredFact(NamedTuple):
    """A live relation as it is."""

    state: FactState
    version: int


class OriginReads(Protocol):
    """Live rows of some origins, by key; of all, and of those without one, where none are named."""

    def known(self) -> dict[int, Origin]: ...

    def memories(self, origins: Collection[int] | None) -> list[BroughtMemory]: ...

    def relations(self, origins: Collection[int] | None) -> dict[int, int]:
        """Those that were made by them, and when."""

    def entities(self, origins: Collection[int] | None) -> dict[int, int]:
        """Those that nobody else has handed in, and when they were made."""

    def segments(self, origins: Collection[int] | None) -> list[tuple[int, int, int]]:
        """Those that are not pinned: the key, the window, and when it was made."""

    def acts(self, origins: Collection[int] | None) -> list[Contribution]:
        """But for what was taken back; also on relations in the trash."""

    def journal(self, relations: Collection[int]) -> list[Contribution]:
        """All that was ever contributed to these, in its order."""

    def facts(self, relations: Collection[int], *, trashed: bool = False) -> dict[int, StoredFact]:
        """Live ones; on request also those in the trash."""


class OriginRows(OriginReads, Protocol):
    def taken_back_by(self, receipt: int) -> set[int]:
        """The relations of the contributions that a receipt has taken back."""

    def take_back(self, acts: Collection[int], receipt: int | None) -> None:
        """By key; without a receipt they are given back."""

    def give_back(self, receipt: int) -> None: ...

    def release(self, memory: int, at: int) -> None:
        """Let a memory out of quarantine."""

    def release_facts(self, relations: Collection[int], at: int) -> None: ...

    def set_facts(self, facts: Mapping[int, StoredFact]) -> None:
        """Also of those in the trash."""
