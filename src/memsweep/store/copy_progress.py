"""Track a long copy: who hears of it, and where an unfinished one is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class CopyProgress:
    """Rows done of rows in all. A copy goes over its rows in one or several passes: read, write, compare."""

    tell: Callable[[int, int], None] = lambda done, total: None
    passes: int = 1
    folder: Path | None = None
    """Where an unfinished copy waits to be continued; without one it is thrown away."""
    notes: list[str] = field(default_factory=list)
    """What the reader should know afterwards."""
    _done: int = 0
    _total: int = 0

    def enter(self, number: int, rows: int, done: int = 0) -> None:
        """Begin a pass (negative: counted from the last) over so many rows, of which some were done before."""
        before = number - 1 if number > 0 else self.passes + number
        self._total = self.passes * rows
        self._done = max(0, before) * rows + done
        self._say()

    def did(self, rows: int) -> None:
        self._done += rows
        self._say()

    def end(self) -> None:
        """All of it is done, whatever could be counted on the way."""
        self._done = self._total = self._total or 1
        self._say()

    def _say(self) -> None:
        self.tell(min(self._done, self._total), self._total)
