"""Checks of what callers give: every refusal names the value and what it may be. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from memsweep.errors import BadInput
from memsweep.model.decay import kept
from memsweep.model.text import MAX_TEXT_BYTES, check_text, refuse_lone_surrogate

MAX_LABEL = 200
MAX_ITEMS = 1000
"""Of one call."""
MOST_VALUES = 200_000
"""In all lists and objects of an argument, or of a message."""
MOST_BYTES = {
    "query": 32_000,  # more is not read for its meaning
    "metadata": 64 * 1024,
    **dict.fromkeys(("text", "summary", "content", "segments", "messages", "bookmark"), MAX_TEXT_BYTES),
    "load.text": 512 * 1024 * 1024,
    "add_transcript.text": 256 * 1024 * 1024,
}
"""Of a text in an argument, by its name, or by the names of the call and the argument."""
MOST_OTHER_BYTES = 4096
"""Of an id, a name, a path and whatever else has no line above."""


def within_limits(name: str, value: object, call: str = "") -> None:
    """Refuse an argument that is longer than anything its call could use: every call is bounded by its input."""
    most = MOST_BYTES.get(f"{call}.{name}") or MOST_BYTES.get(name, MOST_OTHER_BYTES)
    left, values = [value], 1
    while left:
        each = left.pop()
        match each:
            case str():
                if len(each) > most // 4 and (size := len(each.encode("utf-8", "surrogatepass"))) > most:
                    raise BadInput(f"{name} has {size:,} bytes; at most {most:,} are accepted.", hint="Shorten it.")
            case list() | tuple() | set() | frozenset() | Mapping():
                values += len(each) * (2 if isinstance(each, Mapping) else 1)
                if values > MOST_VALUES:
                    raise BadInput(f"{name} has more than {MOST_VALUES:,} values.", hint="Split it.")
                left += [*each, *each.values()] if isinstance(each, Mapping) else each


def label(value: object, what: str) -> str:
    """A short text, such as a tag, without white space around it."""
    return fitting(check_text(value, what, max_bytes=4 * MAX_LABEL).strip(), what, MAX_LABEL)


def one_line(value: object, what: str) -> str:
    """A label in which any run of white space is one blank."""
    return fitting(" ".join(check_text(value, what, max_bytes=4 * MAX_LABEL).split()), what, MAX_LABEL)


def fitting(text: str, what: str, most: int) -> str:
    if len(text) > most:
        raise BadInput(f"{what} has {len(text):,} characters; at most {most:,} are accepted.")
    return text


def few(items: list[Any], what: str, most: int = MAX_ITEMS) -> list[Any]:
    if len(items) > most:
        raise BadInput(f"{what} has {len(items)} items; at most {most} are accepted.")
    return items


def plain_text(value: object, what: str) -> str:
    """Any text that can be compared with what is stored."""
    if not isinstance(value, str):
        raise BadInput(f"{what} must be text, not {value!r:.80}.")
    refuse_lone_surrogate(value, what)
    return value


def share(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:  # NaN is neither
        raise BadInput(f"{what} must be a number from 0 to 1, not {value!r:.80}.")
    return kept(value)


def flag(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{what} must be true or false, not {value!r:.80}.")
    return value


def only(item: Mapping[Any, Any], known: Collection[str], what: str) -> None:
    """Refuse fields that nobody would read."""
    if unknown := sorted(item.keys() - set(known), key=str):
        raise BadInput(f"{what} has no field {unknown[0]!r:.80}; it has {', '.join(known)}.")


# How a client is shown what may be given.
Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}


def items_of(kind: Schema) -> Schema:
    return {"type": "array", "items": kind}


def one_of(words: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


def fields(required: Sequence[str] = (), **kinds: Schema) -> Schema:
    """Return the schema of an object with these fields and no others."""
    named = {name.removesuffix("_"): kind for name, kind in kinds.items()}  # `from_`, which Python has a use for
    closed: Schema = {"properties": named, "additionalProperties": False}
    return {"type": "object", **closed, **({"required": list(required)} if required else {})}


class DoorArgument(NamedTuple):
    """An argument by name: what a tool takes and shows, and the option of commands, if they have one."""

    kind: Any = str | None
    default: Any = None
    schema: Mapping[str, Any] = {}
    about: str | None = None
    option: tuple[str, ...] = ()
    help: str = ""
    metavar: str | None = None
    check: Callable[[Any, str], Any] | None = None
    of_lists: bool = True
    """Of a filter: lists of memories take it, too."""
    column: str = ""
    """Of a filter: the column of a memory that is compared with it; or of what it has, such as `origin.client`."""
    op: str = "="

    @property
    def place(self) -> tuple[str, str]:
        """Return what has the column, and its name."""
        table, _, column = self.column.rpartition(".")
        return table or "memory", column
