"""The segments of all context windows, as the collector sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class SegmentRows(Protocol):
    def unpinned(self) -> list[tuple[int, int]]:
        """Live segments that are not pinned, stashed ones too: the key, and the key of the window."""

    def trash(self, segments: Sequence[tuple[int, int]], receipt: int) -> None: ...
