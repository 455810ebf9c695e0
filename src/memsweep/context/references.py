"""Links between segments: strong ones are followed, weak ones only raise a score."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memsweep.model.segment import ContextSegment


@dataclass(frozen=True, slots=True)
class References:
    """Strong references both ways, between segments that exist."""

    forward: dict[str, tuple[str, ...]]
    back: dict[str, tuple[str, ...]]


def read_references(segments: Sequence[ContextSegment]) -> References:
    """The references the segments carry; an id that is not among them is not a link."""
    known = {segment.segment_id for segment in segments}
    forward: dict[str, tuple[str, ...]] = {}
    back: dict[str, list[str]] = {}
    for segment in segments:
        if not segment.references:
            continue
        own = segment.segment_id
        targets = [target for target in dict.fromkeys(segment.references) if target in known and target != own]
        if targets:
            forward[own] = tuple(targets)
        for target in targets:
            back.setdefault(target, []).append(own)
    return References(forward, {target: tuple(sources) for target, sources in back.items()})


class WeakLinks:
    """The number of segments that share a topic, a tag or a file: group sizes, never pairs, so it stays linear."""

    def __init__(self, segments: Iterable[ContextSegment] = ()) -> None:
        self._sizes: dict[tuple[str, str], int] = {}
        for segment in segments:
            self.add(segment)

    def add(self, segment: ContextSegment) -> None:
        for key in weak_keys(segment):
            self._sizes[key] = self._sizes.get(key, 0) + 1

    def discard(self, segment: ContextSegment) -> None:
        for key in weak_keys(segment):
            self._sizes[key] -= 1

    def count(self, segment: ContextSegment) -> int:
        """Return how many other segments this one shares something with, once for each thing shared."""
        return sum(self._sizes[key] - 1 for key in weak_keys(segment))


def weak_keys(segment: ContextSegment) -> list[tuple[str, str]]:
    """The things a segment can share with others."""
    keys = [("tag", tag) for tag in dict.fromkeys(segment.tags)] if segment.tags else []
    if segment.topic_id is not None:
        keys.append(("topic", segment.topic_id))
    if segment.file_path is not None:
        keys.append(("file", segment.file_path))
    return keys


_PATHS = ("file_path", "path")
_KNOWN = {*_PATHS, "offset", "limit", "start_line", "end_line", "view_range", "encoding", "description", "explanation"}
"""Arguments of a plain read. A call with any other (a pattern, new text) answers something else than the file."""
_CHANGES = re.compile(
    r"write|edit|delete|remove|create|move|rename|update|replace|insert|append|mkdir|touch|save|patch|apply|undo", re.I
)
_END = 2**31
"""Of a file whose length is not known."""


def place_in_file(name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """`file_path` and `line_range` of what a call read, or nothing where it is not certain that it read a file."""
    path = next((inputs[key] for key in _PATHS if isinstance(inputs.get(key), str)), None)
    viewing = inputs.get("command") == "view"
    if not path or not inputs.keys() - {"command"} <= _KNOWN or (_CHANGES.search(name) and not viewing):
        return {}
    if "command" in inputs and not viewing:
        return {}
    found: dict[str, Any] = {"file_path": plain_path(path)}
    if lines := _lines(inputs):
        found["line_range"] = list(lines)
    return found


def plain_path(path: str) -> str:
    """A path without detours, so that a file has one name: `./src/a.py` and `lib/../src/a.py` are `src/a.py`."""
    plain = posixpath.normpath(path)
    if not path or plain == ".":
        return path
    return f"/{plain.lstrip('/')}" if plain.startswith("/") else plain


def _lines(inputs: Mapping[str, Any]) -> tuple[int, int] | None:
    """The lines that were asked for; None for the whole file."""
    pair = inputs.get("view_range")
    if isinstance(pair, list) and len(pair) == 2 and all(type(each) is int for each in pair):
        return _ascending(pair[0], pair[1] if pair[1] >= 0 else _END)
    first, last = _count(inputs.get("start_line")), _count(inputs.get("end_line"))
    if first is not None or last is not None:
        return _ascending(first or 0, _END if last is None else last)
    first, length = _count(inputs.get("offset")), _count(inputs.get("limit"))
    if first is None and length is None:
        return None
    return _ascending(first or 0, (first or 0) + length - 1 if length else _END)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and type(value) is int and value >= 0 else None


def _ascending(first: int, last: int) -> tuple[int, int] | None:
    return (first, last) if 0 <= first <= last < 2**53 else None
