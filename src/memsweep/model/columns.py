"""Declarations of what is stored: a row class whose annotations say of each column how it is kept and checked. Pure.

    class Tombstone(NamedTuple):
        hash: Annotated[bytes, HASH]
        at: Annotated[int, MOMENT]

    TOMBSTONE = declare(Tombstone, "tombstone", "Tombstone")

Tables, select lists, inserts, updates, decoding, the rules of `doctor` and the nodes of a graph are read from these
classes. Names of tables and columns come from them alone; a value that a caller gives is always bound.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ForwardRef, Literal, TypeVar, get_type_hints

from memsweep.model import forms as f
from memsweep.model.forms import Form, Remedy
from memsweep.model.frozen import field, frozen, replace
from memsweep.model.text import mapping, texts, to_json
from memsweep.model.times import from_micros, micros_or_none, moment_or_none, to_micros

R = TypeVar("R")
Convert = Callable[[Any], Any]
Bin = Literal["live", "trash", "any"]
Side = Literal["file", "node"]
Again = Literal["first", "last", "union", "larger", "until"]


@frozen
class Column:
    """A column: how a value is kept in a file and in a graph, and what replaces it when it is damaged."""

    sql: str
    fits: Form
    remedy: Remedy
    to_file: Convert | None = None
    from_file: Convert | None = None
    to_node: Convert | None = None
    from_node: Convert | None = None
    as_row: Convert | None = None
    """A property as the file has it; a damaged one stays as it is, for the doctor to find."""
    as_property: Convert | None = None
    default: Any = None
    """In a table."""
    null: bool = False
    unique: bool = False
    found_by: str = ""
    """The property with the number as text, by which an index of a graph finds it."""
    named: str = ""
    """The property with the number of its window and the value, by which a graph finds it in that window."""
    stored: str = ""
    """Its name in both engines, where that is another than the field."""
    in_file: str = ""
    """Its name in a file, where that is another one still."""
    in_words: bool = False
    """Somebody's words may stand in it."""
    refers: str = ""
    """The table that it is a key of, where the row says nothing without what is there."""
    computed: bool = False
    """From others, for who reads the file: setting it is no change of the thing."""
    beside: bool = False
    """A graph keeps it elsewhere than as a property: as an end of an edge, or in another form."""
    shown: bool = False
    """Every answer that shows the thing has it."""
    settable: bool = False
    """Callers set it."""
    kept: bool = False
    """A revision keeps what it was."""
    by_acts: bool = False
    """What callers have said, act by act, makes it what it is."""
    again: Again = "first"
    """What becomes of it when the same is said again: the first, both, or what `until` says of a date."""

    @property
    def nothing(self) -> Any:
        """Return the default as a value."""
        return self.default if self.default is None or self.from_file is None else self.from_file(self.default)

    def but(self, **changes: Any) -> Column:
        return replace(self, **changes)


@frozen
class Declaration:
    """A stored thing: its table, its node or edge, and its columns."""

    table: str
    label: str
    row: type[Any]
    columns: Mapping[str, Column]
    bins: bool = False
    """What is in the trash has a label of its own in a graph."""
    edge: tuple[str, ...] = ()
    """The type of the edge that it is in a graph, and the one it has in the trash, if that is another."""
    ends: Mapping[str, Declaration] = field(default_factory=dict)
    """Of a link or an edge: the columns of where it begins and where it leads to, and what is there."""
    owner: tuple[str, Declaration] | None = None
    """The column with what it is a part of: in a graph that leads to it."""
    known_by: tuple[str, ...] = ("ref",)
    """The properties that a node is found by, where that is not its key."""
    together: tuple[f.Together, ...] = ()
    kept_with: bool = False
    """A graph keeps it at the node of another thing, which has its key."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    def labels(self, which: Bin) -> tuple[str, ...]:
        every = self.edge or ((self.label, f"Trashed{self.label}") if self.bins else (self.label,))
        return {"live": every[:1], "trash": every[-1:], "any": every}[which]

    def column(self, name: str) -> Column:
        """Return a column, also one of an end: `memory.trash`."""
        end, _, far = name.partition(".")
        return self.ends[end].columns[far] if far else self.columns[self.named.get(name, name)]

    def target(self, name: str) -> Declaration | None:
        """Return what the key in a column is the key of, if a graph finds it by that."""
        end, _, far = name.partition(".")
        if far:
            return self.ends[end].target(far)
        return self.ends.get(name) or (self.owner[1] if self.owner and self.owner[0] == name else None)

    def raises_version(self, names: Sequence[str]) -> bool:
        """Return whether setting these is another version of the thing, and does not say which."""
        known = "version" in self.columns and "version" not in names and self.ends.keys().isdisjoint(names)
        return known and not all(name in self.columns and self.columns[name].computed for name in names)

    @property
    def is_link(self) -> bool:
        """Return whether it is known by its two ends, and has no key."""
        return bool(self.ends) and not self.numbered_by

    @property
    def identity(self) -> tuple[str, ...]:
        """Return the columns that it is known by, where that is not its key."""
        return tuple(name for name in self.columns if name in self.ends) if self.is_link else self.known_by

    @property
    def numbered_by(self) -> str:
        """The column whose numbers the engine gives out; empty if there is none."""
        return next((name for name in ("key", "place") if name in self.columns and self.in_file(name) in _NUMBERS), "")

    def in_file(self, name: str) -> str:
        end, _, far = name.partition(".")
        if far:
            return f"{end}.{self.ends[end].in_file(far)}"
        column = self.columns[name]
        return column.in_file or column.stored or _FILE_NAMES.get(name, name)

    def in_node(self, name: str) -> str:
        return self.column(name).stored or name.rpartition(".")[2]

    @property
    def references(self) -> Mapping[str, str]:
        """Return the tables of what a row is nothing without, by the columns of its table that have the keys."""
        ends = {name: end.table for name, end in self.ends.items()}
        own = {self.in_file(name): column.refers for name, column in self.columns.items() if column.refers}
        return ends | own

    @property
    def named(self) -> Mapping[str, str]:
        """Return the properties by which a graph finds things in a window, and the columns that they stand for."""
        return _named(self)

    @property
    def file_columns(self) -> dict[str, Column]:
        """Return the columns by their names in the table."""
        kept = {self.in_file(name): column for name, column in self.columns.items()}
        kept.pop("rowid", None)  # every table has it
        return kept


_NUMBERS = ("id", "rowid")


@cache
def _named(it: Declaration) -> Mapping[str, str]:
    return {column.named: name for name, column in it.columns.items() if column.named}


_FILE_NAMES = {"key": "id", "id": "uid"}
_ROWS: dict[type[Any], tuple[Declaration, tuple[str, ...]]] = {}


def declare(row: type[Any], table: str, label: str, **more: Any) -> Declaration:
    """Declare a row class as a stored thing."""
    hints: Mapping[str, Any] = row.__annotations__
    if any(isinstance(hint, ForwardRef | str) for hint in hints.values()):  # its module puts annotations off
        hints = get_type_hints(row, include_extras=True)
    columns = {
        name: next(each for each in hint.__metadata__ if isinstance(each, Column)) for name, hint in hints.items()
    }
    made = Declaration(table, label, row, columns, **more)
    _ROWS[row] = made, tuple(columns)
    return made


def part(row: type[R], of: Declaration, **columns: str) -> type[R]:
    """Declare a row class with some columns of a thing; those of its ends, or of other names, are said by field."""
    names = tuple(columns.get(name, name) for name in row._fields)  # type: ignore[attr-defined]
    for name in names:
        of.column(name)
    _ROWS[row] = of, names
    return row


def declared(row: type[Any]) -> tuple[Declaration, tuple[str, ...]]:
    """Return the thing that a row class is of, and the names of its columns."""
    return _ROWS[row]


def decoder(row: type[Any], side: Side) -> Callable[[Sequence[Any]], Any]:
    """Return what makes a row of the values that an engine gives for its columns; nothing is nothing in every form."""
    it, names = declared(row)
    found = [(place, getattr(it.column(name), f"from_{side}")) for place, name in enumerate(names)]
    ways = [(place, way) for place, way in found if way is not None]
    make: Callable[[Sequence[Any]], Any] = row._make
    if not ways:
        return make

    def decode(values: Sequence[Any]) -> Any:
        kept = list(values)
        for place, way in ways:
            if kept[place] is not None:
                kept[place] = way(kept[place])
        return make(kept)

    return decode


@cache
def encoders(it: Declaration, names: tuple[str, ...], side: Side) -> list[tuple[int, Convert]]:
    """Return how the values that are not kept as they are become what an engine keeps, by their places."""
    found = [(place, it.columns[name], getattr(it.columns[name], f"to_{side}")) for place, name in enumerate(names)]
    return [(place, _or_nothing(way) if column.null else way) for place, column, way in found if way is not None]


def encoded(ways: Sequence[tuple[int, Convert]], values: Sequence[Any]) -> Sequence[Any]:
    if not ways:
        return values
    kept = list(values)
    for place, way in ways:
        kept[place] = way(kept[place])
    return kept


def _or_nothing(encode: Convert) -> Convert:
    return lambda value: None if value is None else encode(value)


def _careful(decode: Convert) -> Convert:
    def decoded(value: Any) -> Any:
        try:
            return decode(value)
        except (ValueError, TypeError):
            return value

    return decoded


def _hex(value: bytes) -> str:
    return value.hex()


def _object(value: Any) -> str:
    return to_json(dict(value))


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


# The kinds of columns that there are; a declaration picks one and says what differs.
KEY = Column("integer", f.whole(), f.drop)
LINK = Column("integer", f.whole(0), f.drop)
MAYBE_LINK = Column("integer", f.or_null(f.whole(0)), f.to(None), null=True)
TRASH = Column("integer", f.or_null(f.whole(1)), f.to(None), null=True, found_by="trash")
VERSION = Column("integer", f.whole(1), f.to(1), default=1)
MOMENT = Column("integer", f.time, f.like())
"""Microseconds, as the model counts them."""
MAYBE_MOMENT = Column("integer", f.or_null(f.time), f.to(None), null=True)
TIME = MOMENT.but(to_file=to_micros, from_file=from_micros, to_node=to_micros, from_node=from_micros)
MAYBE_TIME = MAYBE_MOMENT.but(
    to_file=micros_or_none, from_file=moment_or_none, to_node=micros_or_none, from_node=moment_or_none
)
SHARE = Column("real", f.share, f.drop)
MAYBE_SHARE = Column("real", f.or_null(f.share), f.to(None), null=True)
NUMBER = Column("integer", f.count, f.to(0))
COUNT = NUMBER.but(default=0)
MAYBE_NUMBER = Column("integer", f.or_null(f.count), f.to(None), null=True)
TEXT = Column("text", f.text, f.readable(""))
MAYBE_TEXT = Column("text", f.or_null(f.text), f.readable(None), null=True)
WORD = Column("text", f.word, f.drop)
FLAG = Column(
    "integer",
    f.flag,
    f.to(0),
    default=0,
    to_file=int,
    from_file=bool,
    to_node=bool,
    from_node=bool,
    as_row=lambda value: int(value) if isinstance(value, bool) else value,
    as_property=bool,
)
KEPT = FLAG.but(remedy=f.to(1))
OBJECT = Column(
    "text", f.mapping, f.to("{}"), default="{}", to_file=_object, from_file=mapping, to_node=_object, from_node=mapping
)
JSON = Column("text", f.anything, f.drop, to_file=to_json, from_file=json.loads, to_node=to_json, from_node=json.loads)
WORDS = Column(
    "text",
    f.listed(f.text),
    f.to("[]"),
    to_file=to_json,
    from_file=texts,
    to_node=list,
    from_node=tuple,
    as_row=to_json,
    as_property=json.loads,
)
NUMBERS = WORDS.but(fits=f.listed(f.whole()), from_file=json.loads, from_node=list)
HASH = Column(
    "blob", f.digest, f.drop, to_node=_hex, from_node=bytes.fromhex, as_row=_careful(bytes.fromhex), as_property=_hex
)
BYTES = Column(
    "blob",
    f.data,
    f.drop,
    to_node=_base64,
    from_node=base64.b64decode,
    as_row=_careful(base64.b64decode),
    as_property=_base64,
)


def uid(lost: str) -> Column:
    """An id that people see; `lost` is what a lost one is called, with the key of the row."""
    return Column("text", f.word, f.lost(lost), unique=True, found_by="id")


def choice(*allowed: str) -> Column:
    return Column("text", f.one_of(*allowed), f.drop)
