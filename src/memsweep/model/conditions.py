"""Conditions on the metadata of a memory: how they are written, checked, and met. Pure.

A path such as `ticket.id` leads through objects to one value. It is compared with texts, numbers and flags of its own
kind alone, so that 1 is neither "1" nor true; a list, an object and null are only there, or not.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args

from memsweep.errors import BadInput
from memsweep.model.checks import few, fitting, flag, only, plain_text
from memsweep.model.text import mapping, to_json

Scalar = str | int | float | bool
Order = Literal[">", ">=", "<", "<="]
ORDERS: tuple[Order, ...] = get_args(Order)
MOST_CONDITIONS, MOST_CHOICES, MOST_PARTS = 16, 100, 16
_LONGEST_PATH, _LONGEST_TEXT = 200, 4096
_ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_KINDS: Mapping[type, str] = {str: "text", bool: "flag", int: "number", float: "number"}
_WRITTEN = re.compile(r"([^=<>]+)(?:(>=|<=|=|>|<)(.*))?", re.DOTALL)


class Condition(NamedTuple):
    """One condition on the value at a path; `in` has the values that it may be, `exists` whether there is one."""

    path: tuple[str, ...]
    op: Literal["in", "exists"] | Order
    values: tuple[Scalar, ...]
    is_indexed: bool = False
    """Whether a setting wants an index of the values at this path."""

    def is_met_by(self, metadata: Mapping[str, Any]) -> bool:
        found = _at(metadata, self.path)
        if self.op == "exists":
            return (found is not None) is self.values[0]
        found, kind = _as_stored(found), kind_of(found)
        alike = [value for value in self.values if kind_of(value) == kind]
        return found in alike if self.op == "in" else any(_ORDERED[self.op](found, value) for value in alike)

    @property
    def signs(self) -> list[str]:
        """Texts that the JSON of whatever meets it has, for a first look at many."""
        if self.op == "exists" and not self.values[0]:
            return []
        whole = self.values if self.op == "in" and len(self.values) == 1 and isinstance(self.values[0], str) else ()
        return [to_json(each) for each in (*self.path, *whole)]


def with_indexes(conditions: Iterable[Condition], paths: Collection[str]) -> tuple[Condition, ...]:
    return tuple(each._replace(is_indexed=".".join(each.path) in paths) for each in conditions)


def value_at(metadata: Mapping[str, Any], path: Iterable[str]) -> Scalar | None:
    """Return the text, number or flag at a path as an engine keeps it; None where there is none of these."""
    found = _at(metadata, path)
    return _as_stored(found) if kind_of(found) else None


def _at(metadata: Mapping[str, Any], path: Iterable[str]) -> Any:
    found: Any = metadata
    for part in path:
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def kind_of(value: object) -> str:
    """Return `text`, `number` or `flag`; empty for what is compared with nothing."""
    return _KINDS.get(type(value), "")


def all_met(conditions: Iterable[Condition], kept: str) -> bool:
    """Return whether metadata meets all conditions, from its JSON; what is damaged meets none."""
    try:
        metadata = mapping(kept)
    except (TypeError, ValueError, RecursionError):
        return False
    return all(each.is_met_by(metadata) for each in conditions)


def _as_stored(value: Any) -> Any:
    """A value as an engine reads it from JSON: of whole numbers, 64 bits."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return value


def make_conditions(value: object) -> tuple[Condition, ...]:
    """Check an object such as `{"ticket.id": 42, "state": ["open", "new"], "score": {">": 3}}`."""
    if isinstance(value, tuple) and all(isinstance(each, Condition) for each in value):
        return value
    if not isinstance(value, Mapping):
        raise BadInput(f"filters.metadata must be an object of paths and values, not {value!r:.80}.")
    found = [each for path, asked in value.items() for each in _conditions_at(path, asked)]
    return tuple(few(found, "filters.metadata", MOST_CONDITIONS))


def _conditions_at(path: object, asked: object) -> list[Condition]:
    parts, what = _path(path), f"filters.metadata[{path!r:.80}]"
    if not isinstance(asked, Mapping):
        choices = list(asked) if isinstance(asked, list | tuple) else [asked]
        if not choices:
            raise BadInput(f"{what} names no value.", hint="Name at least one.")
        return [Condition(parts, "in", tuple(_scalar(each, what) for each in few(choices, what, MOST_CHOICES)))]
    only(asked, (*ORDERS, "exists"), what)
    if not asked:
        raise BadInput(f"{what} says nothing of its value.", hint=f"Use {', '.join(ORDERS)} or exists.")
    made = [Condition(parts, order, (_ordered(asked[order], what),)) for order in ORDERS if order in asked]
    if "exists" in asked:
        made.append(Condition(parts, "exists", (flag(asked["exists"], f"{what}.exists"),)))
    return made


def _path(path: object) -> tuple[str, ...]:
    text = fitting(plain_text(path, "a path in filters.metadata"), "a path in filters.metadata", _LONGEST_PATH)
    parts = tuple(text.split("."))
    if "\0" in text or not all(parts) or len(parts) > MOST_PARTS:
        raise BadInput(
            f"filters.metadata has no path {text!r:.80}.",
            hint=f"Write names with dots between them, such as ticket.id; at most {MOST_PARTS}.",
        )
    return parts


def _scalar(value: object, what: str) -> Scalar:
    if isinstance(value, str):
        return fitting(plain_text(value, what), what, _LONGEST_TEXT)
    match value:
        case float() if math.isfinite(value):
            return value
        case int() if -(2**63) <= value < 2**63:  # a flag is a whole number
            return value
    raise BadInput(f"{what} must be a text, a number of at most 64 bits, true or false, not {value!r:.80}.")


def _ordered(value: object, what: str) -> Scalar:
    if isinstance(value, bool):
        raise BadInput(f"{what}: {value} is not greater or less than anything.", hint="Compare texts or numbers.")
    return _scalar(value, what)


def written_conditions(texts: Iterable[str]) -> dict[str, Any]:
    """Read what a person writes: `ticket.id=42`, `state=open|new`, `score>=3`, or a path alone for one that exists."""
    found: dict[str, Any] = {}
    for text in texts:
        said = _WRITTEN.fullmatch(text)
        path, sign, value = ((each or "").strip() for each in (said.groups() if said else ("", "", "")))
        if not path:
            raise BadInput(
                f"{text!r:.80} is no condition.", hint="Write ticket.id=42, state=open|new, score>=3 or owner."
            )
        asked: Any = {"exists": True}
        if sign:
            values = [_plain(each.strip()) for each in value.split("|")] if sign == "=" else [_plain(value)]
            asked = values if sign == "=" else {sign: values[0]}
        if path in found and not (isinstance(asked, dict) and isinstance(found[path], dict)):
            raise BadInput(f"{path!r:.80} is asked for twice.", hint=f"Write its values as {path:.40}=one|another.")
        found[path] = {**found[path], **asked} if path in found else asked
    return found


def _plain(text: str) -> Any:
    """A number, a flag or a text in quotes as JSON has them; anything else is a text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if kind_of(value) else text
