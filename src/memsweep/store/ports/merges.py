"""What merges and splits wrote down, and the other names that they made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from memsweep.model.graph_rows import Move
from memsweep.model.splitting import Parts


class MoveRows(Protocol):
    """A merge or a split stands while its moves are there."""

    def targets(self) -> dict[int, int]:
        """The receipts of the merges that stand, and which entity each kept."""

    def splits(self) -> dict[int, Parts]:
        """The receipts of the splits that stand, and which entities each made of one."""

    def of(
        self, receipts: Collection[int], kinds: Collection[str] = (), about: Collection[int] | None = None
    ) -> list[Move]:
        """In the order of the receipts, and as they were added; all kinds if none is named, `about` these `a`."""

    def add(self, moves: Sequence[Move]) -> None:
        """Write something (more) down."""

    def set(self, changed: Iterable[Move]) -> None:
        """Other values of what is there, by receipt and place."""

    def drop(self, receipts: Collection[int]) -> None: ...

    def hand_over(self, namesakes: Mapping[int, int], receipts: Collection[int]) -> None:
        """In these merges and splits, another entity stands for one: as what was kept (whose version means nothing
        then), in names, and where mentions and relations were moved to or from."""
