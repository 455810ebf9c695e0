"""Keep an answer to an agent to about 5,000 tokens, whatever is stored under whatever names. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memsweep.model.visible import visible_in

MOST_BYTES = 20_000
_LONGEST = (1000, 500, 250, 120, 60)
_WHOLE = ("id", "ids", "cursor", "path")
"""How the names of values end that are of use only as they are."""
_NOTE = "Shortened to fit: ask for fewer at a time."


def size_of(value: Any) -> int:
    """Bytes as JSON, with everything in it shown."""
    return len(
        json.dumps(visible_in(value), ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")
    )


def fitted(answer: dict[str, Any], most: int = MOST_BYTES) -> dict[str, Any]:
    """The same answer if it is small enough; else with shorter texts inside, and if need be shorter lists."""
    if size_of(answer) <= most:
        return answer
    note = f"{answer['note']} {_NOTE}" if answer.get("note") else _NOTE
    for longest in _LONGEST:
        shorter = {**_clipped(answer, longest), "note": note}
        if size_of(shorter) <= most:
            return shorter
    while size_of(shorter) > most and (longest_list := _most_items(shorter)) > 1:
        shorter = {**_cut(shorter, longest_list // 2), "note": note}
    return shorter


def piece(text: str, offset: int, most: int) -> str:
    """As much of a text from there on as fits into so many bytes of JSON; one character at least."""
    part = text[offset : offset + max(1, most)]
    while len(part) > 1 and (size := size_of(part)) > most:
        part = part[: max(1, min(len(part) - 1, len(part) * most // size))]
    return part


def _clipped(value: Any, longest: int, name: str = "") -> Any:
    match value:
        case str():
            return value if name.endswith(_WHOLE) or size_of(value) <= longest else f"{piece(value, 0, longest)}…"
        case Mapping():
            return {key: _clipped(each, longest, str(key)) for key, each in value.items()}
        case list():
            return [_clipped(each, longest, name) for each in value]
    return value


def _most_items(value: Any) -> int:
    """Return the length of the longest list or table inside a value."""
    match value:
        case Mapping():
            return max([len(value) if len(value) > _NAMES else 0, *map(_most_items, value.values())])
        case list():
            return max([len(value), *map(_most_items, value)])
    return 0


_NAMES = 40  # no answer of ours has as many; more are somebody's


def _cut(value: Any, items: int) -> Any:
    match value:
        case Mapping():
            kept = list(value.items())[:items] if len(value) > _NAMES else value.items()
            return {key: _cut(each, items) for key, each in kept}
        case list():
            return [_cut(each, items) for each in value[:items]]
    return value
