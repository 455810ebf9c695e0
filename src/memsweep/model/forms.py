"""The forms of values in a column, and the remedies for damaged ones. Pure.

A form is a function that says whether a value fits. A remedy makes another value from what is sound in the
row, or says that the row means nothing without it. Text that is no UTF-8 comes as `BadText`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from memsweep.model.text import name_key

Row = Mapping[str, Any]
Form = Callable[[Any], bool]
Remedy = Callable[[Any, Row], Any]
"""Of the damaged value and the sound ones of its row (with its key as `rowid`, and the moment as `now`)."""

HASH_BYTES = 16
_LONGEST_PIECE = 20_000
# The years 1 to 9999, which is what a datetime can be.
_EARLIEST, _LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999


class BadText(bytes):
    """A value in the place of text that is no UTF-8."""


class _Drop:
    """The row goes."""


DROP: Final = _Drop()


class Together(NamedTuple):
    """Columns that must fit together; those that do not all become NULL."""

    columns: tuple[str, ...]
    fits: Callable[[Row], bool]


# forms
def whole(low: int | None = None, high: int | None = None) -> Form:
    def fits(value: Any) -> bool:
        return type(value) is int and (low is None or value >= low) and (high is None or value <= high)

    return fits


def share(value: Any) -> bool:
    """A number from 0 to 1, which is how sure something is."""
    return isinstance(value, float | int) and math.isfinite(value) and 0 <= value <= 1


def text(value: Any) -> bool:
    return isinstance(value, str)


def word(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def one_of(*allowed: str) -> Form:
    return lambda value: isinstance(value, str) and value in allowed


def digest(value: Any) -> bool:
    return type(value) is bytes and len(value) == HASH_BYTES


def data(value: Any) -> bool:
    return type(value) is bytes and len(value) > 0


def or_null(form: Form) -> Form:
    return lambda value: value is None or form(value)


def listed(form: Form) -> Form:
    """JSON: a list of such values."""
    return _json(lambda value: isinstance(value, list) and all(map(form, value)))


def _json(shape: Form) -> Form:
    def fits(value: Any) -> bool:
        if not isinstance(value, str):
            return False
        try:
            return shape(json.loads(value))
        except (ValueError, RecursionError):
            return False

    return fits


def _is_model(value: Any) -> bool:
    return isinstance(value, dict) and word(value.get("name")) and whole(1)(value.get("dimension")) and len(value) == 2


flag = whole(0, 1)
count = whole(0)
time = whole(_EARLIEST, _LATEST)
mapping = _json(lambda value: isinstance(value, dict))
counts = _json(lambda value: isinstance(value, dict) and all(map(count, value.values())))
anything = _json(lambda value: True)
pairs = _json(
    lambda value: isinstance(value, list) and all(isinstance(item, list) and len(item) == 2 for item in value)
)
bases = _json(
    lambda value: isinstance(value, list) and all(isinstance(item, list) and all(map(whole(0), item)) for item in value)
)
model = _json(_is_model)


def _is_summary(value: Any) -> bool:
    """Return whether a value is the summary of a plan: each part that is there has its kind."""
    if not isinstance(value, dict):
        return False
    totals, protected, warnings = (value.get(name, kind()) for name, kind in _SUMMARY.items())
    return (
        isinstance(totals, dict)
        and set(totals) <= {"memories", "chunks", "entities", "relations", "segments"}
        and all(map(count, totals.values()))
        and isinstance(protected, list)
        and all(isinstance(item, list) and len(item) == 3 and whole()(item[1]) for item in protected)
        and isinstance(warnings, list)
        and all(map(text, warnings))
        and all(isinstance(value.get(name, 0), int | float) for name in ("item_count", "share", "workspace_memories"))
    )


_SUMMARY: dict[str, Callable[[], Any]] = {"totals": dict, "protected": list, "warnings": list}
summary = _json(_is_summary)


# remedies
def drop(value: Any, row: Row) -> Any:
    return DROP


def to(value: Any) -> Remedy:
    return lambda damaged, row: value


def lost(form: str) -> Remedy:
    """A name in the place of the one that is lost, made from the key of the row."""
    return lambda damaged, row: form.format(row["rowid"])


def key_of(column: str) -> Remedy:
    """Return a remedy that makes the key of a name again from the name."""
    return lambda damaged, row: name_key(row[column]) if column in row else DROP


def like(*columns: str) -> Remedy:
    """The first of other columns of the row that is sound; else what follows from the moment of the repair."""
    return lambda damaged, row: next((row[name] for name in columns if row.get(name) is not None), row["now"])


def same_or_drop(column: str) -> Remedy:
    return lambda damaged, row: row.get(column, DROP)


def readable(otherwise: Any) -> Remedy:
    """Text with a mark for each byte that is none; what is no text at all becomes something else."""
    return lambda damaged, row: damaged.decode(errors="replace") if isinstance(damaged, bytes) else otherwise


def hash_of(column: str) -> Remedy:
    return lambda damaged, row: hash_text(row[column]) if column in row else DROP


def hash_text(said: str) -> bytes:
    return blake2b(said.encode(), digest_size=HASH_BYTES).digest()


# a text and its pieces
def assembled(parts: Iterable[tuple[Any, Any]]) -> str | None:
    """The whole that pieces are of, by where each begins; None if something is missing between them."""
    whole = ""
    for start, part in parts:
        if not isinstance(start, int) or not isinstance(part, str) or not 0 <= start <= len(whole):
            return None
        whole = whole[:start] + part
    return whole


def piece_with(whole: str, start: int, digest: bytes) -> str | None:
    """The piece of a text that begins at a place and has a hash."""
    pieces = (whole[start:end] for end in range(start + 1, min(len(whole), start + _LONGEST_PIECE) + 1))
    return next((piece for piece in pieces if hash_text(piece) == digest), None)
