"""Sets of rows by their keys."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from memsweep.model.plan import Totals

_NONE: Set[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """The items that go to the trash, come back, or are freed."""

    memories: Set[int] = _NONE
    chunks: Set[int] = _NONE
    entities: Set[int] = _NONE
    relations: Set[int] = _NONE

    @property
    def totals(self) -> Totals:
        return Totals(len(self.memories), len(self.chunks), len(self.entities), len(self.relations))
