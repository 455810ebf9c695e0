"""Values as the engines keep them, read with care: what is not of its type is refused. Pure."""

from __future__ import annotations

import json
from typing import Any

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
