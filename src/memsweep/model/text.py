"""The law of text: what may be stored, how names are compared, how content is identified."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from memsweep.errors import BadInput
from memsweep.model.frozen import frozen

MAX_TEXT_BYTES = 10 * 1024 * 1024
MAX_DESCRIPTION = 1000
MAX_ECHO = 160  # how much of a value an error repeats
_SURROGATE = re.compile("[\ud800-\udfff]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_WITHOUT_SECRET = re.compile(
    r"(?:\[[0-9a-f:.]*\]|[^/:?#%\s]*)(?::\d+)?(?:/[\w.-]*)*(?:\?(?:(?:ca|sentinel|timeout)=[^&?#@]*(?:&|$))+)?", re.I
)


def check_text(value: object, what: str, *, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return text that can be stored and given back byte for byte, or say what is wrong with it."""
    if not isinstance(value, str):
        raise BadInput(f"{what} must be text, not {type(value).__name__}.")
    if not value.strip():
        raise BadInput(f"{what} is empty.", hint="Give at least one character that is not white space.")
    if "\0" in value:
        raise BadInput(f"{what} contains a NUL character at position {value.index(chr(0))}.", hint="Remove it.")
    refuse_lone_surrogate(value, what)
    if (size := len(value.encode())) > max_bytes:
        raise BadInput(f"{what} has {size:,} bytes; at most {max_bytes:,} are accepted.", hint="Split it.")
    return value


@frozen
class LoneSurrogate:
    """Half of a pair, as it is left where a text was cut: no Unicode, and not storable."""

    where: str
    half: str
    position: int

    hint = "It is half of a character that was cut, and not valid Unicode; decode the text again or remove it."

    @property
    def sentence(self) -> str:
        return f"{clipped(self.where)} contains a lone surrogate ({self.half!a}) at position {self.position}."


def lone_surrogate(value: object, where: str = "") -> LoneSurrogate | None:
    """The first one in a text, or in the keys and values of what came as JSON."""
    open_ends: list[tuple[str, object]] = [(where, value)]
    while open_ends:
        name, each = open_ends.pop()
        match each:
            case str():
                if not each.isascii() and (found := _SURROGATE.search(each)):
                    return LoneSurrogate(name, found.group(), found.start())
            case dict():
                for key, below in reversed(each.items()):
                    open_ends.append((f"{name}.{key}" if name else str(key), below))
                    open_ends.append((name, key))
            case list() | tuple():
                open_ends += [(f"{name}[{index}]", each[index]) for index in range(len(each) - 1, -1, -1)]
    return None


def refuse_lone_surrogate(value: object, what: str) -> None:
    if found := lone_surrogate(value, what):
        raise BadInput(found.sentence, hint=found.hint)


def clipped(text: str, room: int = MAX_ECHO) -> str:
    """The beginning of a text, for a sentence."""
    return text if len(text) <= room else text[: room - 1] + "…"


def excerpt(text: str, room: int = 80) -> str:
    """The beginning of a text on one line, to be shown beside an id."""
    return clipped(" ".join(text[: 8 * room].split()), room)


def shown(value: object, room: int = 80) -> str:
    """A value as a sentence names it, however long it is."""
    return clipped(repr(value[:room] if isinstance(value, str) else value), room)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 memory, 2 memories, 1,000 chunks."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(parts: Sequence[str]) -> str:
    """Some words as a sentence lists them: a, b and c."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def content_hash(text: str) -> bytes:
    """Identify content: 16 bytes, equal only for equal text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
"""What is pasted along with a name and changes nothing. Joiners are not among it: they make other letters and signs."""
_MARKS = re.compile(r"[^\w\s!-~]{64}")
_BETWEEN_MARKS = "\N{COMBINING GRAPHEME JOINER}"
"""Normalising sorts the marks on a letter, in a time that grows with the square of their number: between so many of
them stands what they are not sorted across."""


def name_key(name: str) -> str:
    """The form under which names are compared: Unicode-normalised, case-folded, single spaces, nothing invisible."""
    if not name.isascii():
        visible = name.translate(_INVISIBLE)
        name = visible if visible.strip() else name
        name = unicodedata.normalize("NFKC", _MARKS.sub(lambda marks: marks[0] + _BETWEEN_MARKS, name))
    return " ".join(name.casefold().split())


def spelled(name: str) -> str:
    """A name with its letter case: Unicode-normalised, single spaces."""
    return " ".join((name if name.isascii() else unicodedata.normalize("NFKC", name)).split())


def case_key(name: str) -> str:
    """The key of a name that differs from another one, which has its `name_key`, in nothing but letter case.

    No other name has such a key: what separates its parts counts as a space in names.
    """
    return f"\x1f{name_key(name)}\x1f{spelled(name)}"


def without_password(url: str) -> str:
    """An address as it may be shown, however it was mistyped: nothing that stands before its last @, and of the rest
    only what cannot be a password."""
    scheme = found.group() if (found := _SCHEME.match(url)) else ""
    _, at, place = url[len(scheme) :].rpartition("@")
    if not _WITHOUT_SECRET.fullmatch(place):  # before a question mark, a port may be how a password begins
        head = place.partition("?")[0]
        place = f"{head}?***" if ":" not in head and _WITHOUT_SECRET.fullmatch(head) else "***"
    return f"{scheme}{'***@' if at else ''}{place}"


def check_description(text: str) -> str:
    """Return the checked description of a workspace: a sentence or two, or nothing."""
    if not isinstance(text, str) or len(text) > MAX_DESCRIPTION:
        raise BadInput(f"description must be text of at most {MAX_DESCRIPTION} characters.")
    return check_text(text, "description") if text.strip() else ""


class FoundName(Protocol):
    """A name by rule, and in which of the texts it stands."""

    @property
    def name(self) -> str: ...

    @property
    def texts(self) -> tuple[int, ...]: ...


FindNames = Callable[[Sequence[str]], Sequence[FoundName]]
"""The rules that find names in some texts."""


# Values as the engines keep them, read with care: what is not of its type is refused.

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # `dumps` makes one for every call


def to_json(value: Any) -> str:
    return _ENCODER.encode(value)


def expect(kind: type, *found: object) -> None:
    """Refuse values of another type than they were written with."""
    for value in found:
        if type(value) is not kind:
            raise TypeError(f"{value!r:.40} is no {kind.__name__}")


def expect_or_null(kind: type, *found: object) -> None:
    for value in found:
        if value is not None and type(value) is not kind:
            expect(kind, value)


def texts(kept: str) -> tuple[str, ...]:
    """A list of texts, from JSON."""
    if kept == "[]":
        return ()
    found = json.loads(kept)
    expect(list, found)
    expect(str, *found)
    return tuple(found)


def mapping(kept: str) -> dict[str, Any]:
    """An object, from JSON."""
    found: dict[str, Any] = json.loads(kept)
    expect(dict, found)
    return found
