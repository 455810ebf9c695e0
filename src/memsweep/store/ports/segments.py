"""The segments of all context windows, as the collector sees them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol


class Summary(NamedTuple):
    """A live segment that stands for others."""

    key: int
    window: int
    id: str
    pinned: bool
    references: tuple[str, ...]


class SegmentRows(Protocol):
    def unpinned(self) -> list[tuple[int, int]]:
        """Live segments that are not pinned, stashed ones too: the key, and the key of the window."""

    def trash(self, segments: Sequence[tuple[int, int]], receipt: int) -> None: ...

    def clashing(self, receipt: int) -> dict[int, str]:
        """What it trashed and whose id another segment of the same window has by now: keys and ids."""

    def stashed_by(self, receipt: int) -> set[str]:
        """The ids of live segments that a receipt stashed."""

    def taken_since(self, receipt: int) -> list[str]:
        """The receipts, but for those of undos, in whose trash is what one stashed, or the summary of it; by their ids,
        the newest first."""

    def summaries(self, receipt: int) -> list[Summary]:
        """Those that were added to the window of a receipt at the moment that was made."""

    def put_back(self, receipt: int, but: Collection[int]) -> int:
        """What a receipt trashed or stashed is where it was; how many."""

    def held_by(self, receipts: Collection[int]) -> set[int]:
        """The keys of what receipts trashed."""

    def free(self, receipts: Collection[int]) -> int:
        """What receipts trashed leaves for good; how many."""
