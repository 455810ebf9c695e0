"""Rows of declared things: what features ask of an engine, read at one revision and written as one set.

Reads are values, so that several go out in one round trip. Links (mentions, statements, supersessions) are rows that
are known by their two ends; a row class of one may have columns of what is there (`part(…, lost="memory.trash")`):

    rows.find(Mention, ("entity", "in", keys), bin="any")       # anywhere; `live`: both ends are
    rows.ask(linked(Mention, "entity", keys, near="live"))      # of live entities, wherever the chunks are
    rows.put([Mention(chunk, entity)], replace=False, live=("entity",))
    rows.drop(Mention, [(chunk, entity)])
    rows.free(Mention, ("entity", "in", keys))
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from memsweep.model.columns import Bin

if TYPE_CHECKING:
    from memsweep.store.views import View

R = TypeVar("R")
Op = Literal[
    "=", "<>", "in", "<", "<=", ">", ">=", "within", "has", "lacks", "begins", "meets", "null", "known", "lost"
]
Where = tuple[str, Op, Any]
"""A column, how it is compared, and with what: a value, a set of values for `in`, or a `range` for `within`.

A text `has`, `lacks` or `begins` with another one; a list `meets` a set of values if it has one of them. What something
is a part of may be `lost`."""
Shape = tuple[tuple[str, Op], ...]
"""The same without the values: what a statement is made of."""


def shape_of(where: Sequence[Where]) -> Shape:
    """Return conditions without their values."""
    return tuple([(column, op) for column, op, _ in where])


class Find(NamedTuple):
    """Rows of a class that meet all conditions, in an order; of links in none, unless one is named.

    `near` is where that is which a condition names by its key (an end, a memory): a graph looks nowhere else.
    """

    row: Any
    where: tuple[Where, ...] = ()
    bin: Bin = "live"
    order: tuple[str, ...] = ("key",)
    newest: bool = False
    limit: int = 0
    near: Bin = "any"


class Values(NamedTuple):
    """Some columns as they are kept, in no order; each row of them once, if they are to be distinct."""

    row: Any
    columns: tuple[str, ...]
    where: tuple[Where, ...] = ()
    bin: Bin = "live"
    distinct: bool = False
    near: Bin = "any"


class SumsBy(NamedTuple):
    """By a column with one of some keys, or any: the key, how many rows, and how many letters a column of them has.

    Without a column all rows at once that meet the conditions, under no key.
    """

    row: Any
    by: str = ""
    keys: Collection[int] | None = ()
    letters: str = ""
    bin: Bin = "live"
    where: tuple[Where, ...] = ()


class Show(NamedTuple):
    """A query for columns of a view, by name, of memories or pieces that meet all conditions.

    `spare`: a row that is damaged is None, and no error; the first condition names keys.
    """

    view: View
    where: tuple[Where, ...]
    bin: Bin = "live"
    spare: bool = False


class Tally(NamedTuple):
    """A query for counts of live memories by some columns of a view, and sums of others: columns, number, sums."""

    view: View
    by: tuple[str, ...]
    sums: tuple[str, ...] = ()
    where: tuple[Where, ...] = ()


class ThreadEnds(NamedTuple):
    """A query for threads by their ids: the id, the key, and the last place in it, in the trash included."""

    ids: Collection[str]


Read = Find | Values | SumsBy | Show | Tally | ThreadEnds


class RowReads(Protocol):
    def ask(self, *reads: Read) -> list[list[Any]]:
        """Return the rows, values or totals of each, all at one revision."""

    def find(self, row: type[R], *where: Where, bin: Bin = "live") -> list[R]:
        """Return the rows of one `Find`."""

    def told(self, name: str) -> Any:
        """Return a value that the workspace has of itself, by its name in `META_VALUES`; None if it has none."""


class Rows(RowReads, Protocol):
    """Writes see nothing that the same transaction has written."""

    def tell(self, **values: Any) -> None:
        """Set what the workspace says of itself."""

    def add(self, rows: Sequence[Any], *, beside: str = "") -> Sequence[int]:
        """Return the keys of new rows of one class; `beside`: only where another row has the same in this column."""

    def put(self, rows: Sequence[Any], *, replace: bool, live: Collection[str] = ()) -> None:
        """Add rows of one class that are known by what they are; one that is there stays, or is replaced.

        Links are added between what is there, in the trash or not; `live`: ends that are known to be, which saves
        looking.
        """

    def drop(self, row: type[Any], known: Iterable[Sequence[Any]]) -> None:
        """Drop rows by what they are known by; links by both ends, in the order of their columns."""

    def set(self, row: type[Any], *where: Where, **values: Any) -> None:
        """Set columns of all rows that meet the conditions, also in the trash.

        A thing with a version gets the next one, unless it is among what is set. Links and facts at one end can be
        given another one, which is live: a link that is there already stays as it is.
        """

    def change(
        self, row: type[Any], columns: Sequence[str], values: Mapping[int, Sequence[Any]], *, bin: Bin = "any"
    ) -> None:
        """The same for each row its own values, by key; a fact may get other ends, which its statements follow.

        `bin` says where they are, which saves looking.
        """

    def move(self, row: type[Any], receipts: Mapping[int, int | None], *, bin: Bin = "live") -> None:
        """Put rows, by key, into the trash of a receipt; without one, bring them back from it.

        `bin` says where those are that get a receipt: in the trash they are handed on to it.
        """

    def free(self, row: type[Any], *where: Where, bin: Bin = "any", wiped: bool = True) -> None:
        """Drop all rows that meet the conditions, with what the engine keeps beside them.

        Unless they are to be `wiped`, an index may hold words of theirs for a while, and a search read their vectors.
        """


def linked(row: type[Any], column: str, keys: Collection[int], *, near: Bin = "live", bin: Bin = "any") -> Find:
    """Return the read of links from or to some keys."""
    return Find(row, ((column, "in", keys),), bin, near=near)


def is_in(column: str, values: Collection[Any] | None) -> tuple[Where, ...]:
    """No condition where no values are named."""
    return () if values is None else ((column, "in", values),)


def sparing(make: Callable[[Any], R]) -> Callable[[Any], R | None]:
    """Return what makes the same, and nothing of a row that is damaged: the others can still be had."""

    def made(row: Any) -> R | None:
        try:
            return None if row is None else make(row)
        except (TypeError, ValueError, ArithmeticError):
            return None

    return made
