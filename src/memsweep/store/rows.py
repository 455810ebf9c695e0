"""Rows of declared things: what features ask of an engine, read at one revision and written as one set.

Reads are values, so that several go out in one round trip.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from memsweep.model.columns import Bin

R = TypeVar("R")
Op = Literal["=", "<>", "in", "<", "<=", ">", ">=", "null", "known"]
Where = tuple[str, Op, Any]
"""A column, how it is compared, and with what: a value, or a set of values for `in`."""
Shape = tuple[tuple[str, Op], ...]
"""The same without the values: what a statement is made of."""


class Find(NamedTuple):
    """Rows of a class that meet all conditions, in an order."""

    row: Any
    where: tuple[Where, ...] = ()
    bin: Bin = "live"
    order: tuple[str, ...] = ("key",)
    newest: bool = False
    limit: int = 0


class Values(NamedTuple):
    """Some columns as they are kept, in no order; each row of them once, if they are to be distinct."""

    row: Any
    columns: tuple[str, ...]
    where: tuple[Where, ...] = ()
    bin: Bin = "live"
    distinct: bool = False


class Totals(NamedTuple):
    """By a column with one of some keys: the key, how many rows, and how many letters a column of them has."""

    row: Any
    by: str
    keys: Collection[int]
    letters: str = ""
    bin: Bin = "live"


Read = Find | Values | Totals


class RowReads(Protocol):
    def ask(self, *reads: Read) -> list[list[Any]]:
        """Return the rows, values or totals of each, all at one revision."""

    def find(self, row: type[R], *where: Where, bin: Bin = "live") -> list[R]:
        """Return the rows of one `Find`."""


class Rows(RowReads, Protocol):
    """Writes see nothing that the same transaction has written."""

    def add(self, rows: Sequence[Any], *, beside: str = "") -> Sequence[int]:
        """Return the keys of new rows of one class; `beside`: only where another row has the same in this column."""

    def put(self, rows: Sequence[Any], *, replace: bool) -> None:
        """Add rows of one class that are known by what they are; one that is there stays, or is replaced."""

    def set(self, row: type[Any], *where: Where, **values: Any) -> None:
        """Set columns of all rows that meet the conditions, also in the trash.

        A thing with a version gets the next one, unless it is among what is set.
        """

    def change(self, row: type[Any], columns: Sequence[str], values: Mapping[int, Sequence[Any]]) -> None:
        """The same for each row its own values, by key."""

    def free(self, row: type[Any], *where: Where) -> None:
        """Drop all rows that meet the conditions, also in the trash."""


def is_in(column: str, values: Collection[Any] | None) -> tuple[Where, ...]:
    """No condition where no values are named."""
    return () if values is None else ((column, "in", values),)


def shape_of(where: Sequence[Where]) -> Shape:
    return tuple([(column, op) for column, op, _ in where])
