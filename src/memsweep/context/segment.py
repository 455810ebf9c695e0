"""The JSON form of a segment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from memsweep.context.references import plain_path
from memsweep.errors import BadInput
from memsweep.model.segment import ContextSegment
from memsweep.model.text import clipped
from memsweep.model.times import parse_time
from memsweep.model.tokens import CountTokens, estimate_tokens

_FIELDS = tuple(field.name for field in fields(ContextSegment))
_WORDS = {str: "text", int: "a whole number", bool: "true or false"}
_PLAIN = {
    **dict.fromkeys(("type", "role", "generation", "file_path", "topic_id", "task_id"), str),
    **dict.fromkeys(("tokens", "gc_survival_count", "refcount"), int),
    "pinned": bool,
}


def segment_from_dict(
    data: Mapping[str, Any], *, now: datetime, count: CountTokens = estimate_tokens
) -> ContextSegment:
    """Read one segment; only `segment_id` and `text` are required, times default to `now`."""
    missing = [name for name in ("segment_id", "text") if not isinstance(data.get(name), str)]
    if missing:
        raise BadInput(f"A segment needs {' and '.join(missing)} as text.")
    unknown = sorted(map(str, set(data) - set(_FIELDS)))
    if unknown:
        raise BadInput(f"A segment has no field {clipped(', '.join(unknown))}.")
    values = {"type": "message", **{key: value for key, value in data.items() if value is not None}}
    for name, kind in _PLAIN.items():
        if name in values and type(values[name]) is not kind:
            raise BadInput(f"{name} must be {_WORDS[kind]}, not {values[name]!r:.60}.")
    for name in ("tags", "references"):
        values[name] = read_texts(values.get(name, ()), name)
    if "file_path" in values:
        values["file_path"] = plain_path(values["file_path"])
    if "line_range" in values:
        values["line_range"] = read_pair(values["line_range"])
    created = parse_time(values.get("created_at", now), "created_at")
    values["created_at"] = created
    values["last_touched_at"] = parse_time(values.get("last_touched_at", created), "last_touched_at")
    if values.get("tokens", -1) < 0:
        values["tokens"] = count(data["text"])
    return ContextSegment(**values)


def segment_to_dict(segment: ContextSegment) -> dict[str, Any]:
    """The JSON form: ISO times in UTC, tuples as lists."""
    out: dict[str, Any] = {}
    for name in _FIELDS:
        value = getattr(segment, name)
        if isinstance(value, datetime):
            value = value.astimezone(UTC).isoformat()
        out[name] = list(value) if isinstance(value, tuple) else value
    return out


def segments_from_json(text: str, *, now: datetime, count: CountTokens = estimate_tokens) -> list[ContextSegment]:
    """Read `{"segments": [...]}`."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"Not JSON: {error}.") from None
    rows = data.get("segments") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadInput('Expected {"segments": [...]}.')
    return [segment_from_dict(row, now=now, count=count) for row in rows]


def segments_to_json(segments: Iterable[ContextSegment]) -> str:
    """Write `{"segments": [...]}`."""
    return json.dumps({"segments": [segment_to_dict(s) for s in segments]}, ensure_ascii=False)


def read_texts(value: object, name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadInput(f"{name} must be a list of strings.")
    items = tuple(value)
    if not all(isinstance(item, str) for item in items):
        raise BadInput(f"{name} must be a list of strings.")
    return items


def read_pair(value: object) -> tuple[int, int]:
    if isinstance(value, list | tuple) and len(value) == 2 and all(type(item) is int for item in value):
        return value[0], value[1]
    raise BadInput("line_range must be two line numbers.")
