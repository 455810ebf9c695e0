"""Tombstones: what was forgotten for good, by the hash of its content."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol


class NewTombstone(NamedTuple):
    hash: bytes
    at: datetime
    memory_id: str
    reason: str


class TombstoneRows(Protocol):
    def add(self, tombstones: Sequence[NewTombstone]) -> None:
        """A content that has one keeps it."""

    def drop(self, memory_id: str) -> bool:
        """Whether there was one. Files that were passed over because of it are read again."""
