"""Sets of rows by their keys."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

_NONE: Set[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """What goes to the trash, comes back, or is freed."""

    memories: Set[int] = _NONE
    chunks: Set[int] = _NONE
    entities: Set[int] = _NONE
    relations: Set[int] = _NONE
