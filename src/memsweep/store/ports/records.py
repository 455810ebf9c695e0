"""Rows that hold somebody's words beside memories, live or in the trash."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from memsweep.model.graph_rows import Alias
from memsweep.model.records import Record


class RecordReads(Protocol):
    def page(self, kind: str, after: int, limit: int) -> list[Record]:
        """So many beyond a key, in the order of their keys."""

    def at(self, kind: str, keys: Collection[int]) -> dict[int, Record]: ...

    def aliases(self) -> list[Alias]:
        """All of them."""

    def names_seen(self) -> list[str]:
        """Names that are only counted yet."""

    def description(self) -> str:
        """Of the workspace."""


class RecordRows(RecordReads, Protocol):
    def write(self, kind: str, changed: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Other values of rows, by their keys; their versions grow."""

    def describe(self, description: str) -> None:
        """As the workspace says it of itself; the list of workspaces has a copy."""

    def forget_names(self, names: Collection[str]) -> None:
        """Names are not counted any more."""
