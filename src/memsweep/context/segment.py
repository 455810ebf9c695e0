"""A piece of an agent's context window: what it is, and its JSON form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from memsweep.context.tokens import CountTokens, estimate_tokens
from memsweep.errors import BadInput

SegmentType = Literal["message", "code", "log", "note", "decision", "summary"]
Role = Literal["system", "user", "assistant", "tool"]
Generation = Literal["young", "old"]

INVARIANT_TAG = "invariant"
"""A segment with this tag (or the role `system`) holds for the whole session."""


@dataclass(frozen=True, slots=True)
class ContextSegment:
    """One segment; `references` are ids it was given, derived from, or replies to."""

    segment_id: str
    text: str
    type: SegmentType
    created_at: datetime
    last_touched_at: datetime
    pinned: bool = False
    generation: Generation = "young"
    gc_survival_count: int = 0
    refcount: int = 0
    file_path: str | None = None
    line_range: tuple[int, int] | None = None
    tags: tuple[str, ...] = ()
    topic_id: str | None = None
    tokens: int = -1
    """Counted by the caller; below zero asks for the estimate."""
    role: Role | None = None
    task_id: str | None = None
    references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.segment_id:
            raise BadInput("A segment needs an id.")
        for name, allowed in _CLOSED.items():
            if getattr(self, name) not in allowed:
                raise BadInput(f"{name} cannot be {getattr(self, name)!r} in segment {self.segment_id!r}.")
        if self.line_range is not None and not 0 <= self.line_range[0] <= self.line_range[1]:
            raise BadInput(f"line_range must ascend in segment {self.segment_id!r}.")
        require_aware(self.created_at, "created_at")
        require_aware(self.last_touched_at, "last_touched_at")
        if self.tokens < 0:
            object.__setattr__(self, "tokens", estimate_tokens(self.text))

    @property
    def is_invariant(self) -> bool:
        """True for what must hold all session long: instructions, project overview, constraints."""
        return self.role == "system" or INVARIANT_TAG in self.tags


_CLOSED: dict[str, frozenset[object]] = {
    "type": frozenset(get_args(SegmentType)),
    "generation": frozenset(get_args(Generation)),
    "role": frozenset((*get_args(Role), None)),
}
_FIELDS = tuple(field.name for field in fields(ContextSegment))


def require_aware(moment: datetime, name: str) -> datetime:
    """A naive time would be hours off somewhere, so it is refused here."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise BadInput(f"{name} has no time zone.", hint="Hand in an aware UTC datetime.")
    return moment


def segment_from_dict(
    data: Mapping[str, Any], *, now: datetime, count: CountTokens = estimate_tokens
) -> ContextSegment:
    """Read one segment; only `segment_id` and `text` are required, times default to `now`."""
    missing = [name for name in ("segment_id", "text") if not isinstance(data.get(name), str)]
    if missing:
        raise BadInput(f"A segment needs {' and '.join(missing)} as text.")
    unknown = sorted(set(data) - set(_FIELDS))
    if unknown:
        raise BadInput(f"A segment has no field {', '.join(unknown)}.")
    values = {"type": "message", **{key: value for key, value in data.items() if value is not None}}
    for name in ("tags", "references"):
        values[name] = _texts(values.get(name, ()), name)
    if "line_range" in values:
        values["line_range"] = _pair(values["line_range"])
    for name in ("tokens", "gc_survival_count", "refcount"):
        if not isinstance(values.get(name, 0), int):
            raise BadInput(f"{name} must be a whole number.")
    created = _moment(values.get("created_at", now), "created_at")
    values["created_at"] = created
    values["last_touched_at"] = _moment(values.get("last_touched_at", created), "last_touched_at")
    values.setdefault("tokens", count(data["text"]))
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
    except ValueError as error:
        raise BadInput(f"Not JSON: {error}.") from None
    rows = data.get("segments") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadInput('Expected {"segments": [...]}.')
    return [segment_from_dict(row, now=now, count=count) for row in rows]


def segments_to_json(segments: Iterable[ContextSegment]) -> str:
    """Write `{"segments": [...]}`."""
    return json.dumps({"segments": [segment_to_dict(s) for s in segments]}, ensure_ascii=False)


def _moment(value: object, name: str) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise BadInput(f"{name} is not an ISO time: {value!r}.") from None
    if not isinstance(value, datetime):
        raise BadInput(f"{name} must be a time.")
    return require_aware(value, name).astimezone(UTC)


def _texts(value: object, name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadInput(f"{name} must be a list of texts.")
    items = tuple(value)
    if not all(isinstance(item, str) for item in items):
        raise BadInput(f"{name} must be a list of texts.")
    return items


def _pair(value: object) -> tuple[int, int]:
    if isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(item, int) for item in value):
        return value[0], value[1]
    raise BadInput("line_range must be two line numbers.")
