"""Check the values of a column before they are taken from a file that we did not write. Pure.

Only what SQLite or this program could not live with is refused here: another kind of value, a number that leaves
no room for the next key, a hash of another length. Whether the rows make sense together is for the doctor.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime
from typing import Any

from memsweep.model.forms import HASH_BYTES, digest
from memsweep.model.times import to_micros
from memsweep.store.things.every import COLUMNS

LARGEST_KEY = 2**53
_HASH_BYTES = {
    (table, name): HASH_BYTES
    for table, columns in COLUMNS.items()
    for name, column in columns.items()
    if column.fits is digest
}
_VECTOR = ("vector", "data")
_KINDS: dict[str, tuple[type, ...]] = {
    "integer": (int, type(None)),
    "real": (float, type(None)),
    "text": (str, type(None)),
    "blob": (bytes, type(None)),
    "": (int, str, type(None)),
}
_NAMES = {int: "a whole number", float: "a number", str: "a text", bytes: "a blob", type(None): "nothing"}
_LATEST = to_micros(datetime(MAXYEAR, 12, 31, tzinfo=UTC))
_EARLIEST = to_micros(datetime(1, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as its table was made; the keys of a primary key are numbered from 1."""

    name: str
    kind: str
    key: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[TableColumn, ...]

    @property
    def row_key(self) -> int | None:
        """Return the place of the integer that is the row's own number; None if there is none."""
        keys = [place for place, column in enumerate(self.columns) if column.key]
        return keys[0] if len(keys) == 1 and self.columns[keys[0]].kind.lower() == "integer" else None


class RowRules:
    """The rules of one table; `dimension` is how many bytes a vector has, if that is known."""

    def __init__(self, table: Table, dimension: int | None = None) -> None:
        self._table, self._row_key = table, table.row_key
        self._kinds = [_KINDS[column.kind.lower()] for column in table.columns]
        self._reals = [place for place, column in enumerate(table.columns) if column.kind.lower() == "real"]
        lengths = {**_HASH_BYTES, **({_VECTOR: dimension} if dimension else {})}
        places = {(table.name, column.name): place for place, column in enumerate(table.columns)}
        self._lengths = [(places[where], length) for where, length in lengths.items() if where in places]

    def problem(self, row: Sequence[Any]) -> str:
        """Return the problem of a row; empty if there is none."""
        for place, kinds in enumerate(self._kinds):
            if type(row[place]) not in kinds:
                return self._at(place, f"{_NAMES[type(row[place])]} instead of {_NAMES[kinds[0]]}")
        if self._row_key is not None and not 0 < row[self._row_key] < LARGEST_KEY:
            return self._at(self._row_key, f"{row[self._row_key]}, which is no key")
        for place in self._reals:
            if row[place] is not None and not math.isfinite(row[place]):
                return self._at(place, "a number that is not finite")
        for place, length in self._lengths:
            if row[place] is not None and len(row[place]) != length:
                return self._at(place, f"{len(row[place]):,} bytes instead of {length:,}")
        return ""

    def _at(self, place: int, what: str) -> str:
        return f"{self._table.columns[place].name} is {what}"


def meta_problem(meta: Mapping[Any, Any]) -> str:
    """Return the problem of a file's description of itself: this is used before a doctor can look at it."""
    for key in ("created_at", "deleted_at", "vector_generation"):
        value = meta.get(key)
        if value is not None and (type(value) is not int or not _EARLIEST <= value <= _LATEST):
            return f"{key} is {value!r:.40}"
    for key in ("workspace", "description", "staged_model"):
        if not isinstance(meta.get(key, ""), str):
            return f"{key} is no text"
    if meta.get("model") is not None and dimension_of(meta) is None:
        return f"model is {meta['model']!r:.60}"
    return ""


def dimension_of(meta: Mapping[Any, Any]) -> int | None:
    """Return the bytes of a vector; None if that is not known or not written as we write it."""
    try:
        model = json.loads(meta.get("model") or "")
    except (TypeError, ValueError, RecursionError):
        return None
    match model:
        case {"name": str(), "dimension": int(dimension), **rest} if not rest and 0 < dimension <= 2**16:
            return dimension
    return None


def sequence_problem(rows: Sequence[Sequence[Any]], known: frozenset[str]) -> str:
    """Return the problem of the numbers that were given out last; empty if there is none."""
    names = [row[0] for row in rows]
    if len(set(names)) < len(names) or not known.issuperset(names):
        return "a table that gives out no numbers, or one twice"
    wrong = [row[0] for row in rows if type(row[1]) is not int or not 0 <= row[1] < LARGEST_KEY]
    return f"the last number of {wrong[0]}" if wrong else ""
