"""A segment of a context window as the values that every engine keeps of it. Pure."""

from __future__ import annotations

from typing import Any

from memsweep.model.segment import ContextSegment
from memsweep.model.times import to_micros


def values_of(segment: ContextSegment) -> dict[str, Any]:
    """By the names of the stored form; the id and the lists are the engine's own."""
    first, last = segment.line_range or (None, None)
    return {
        "type": segment.type,
        "created_at": to_micros(segment.created_at),
        "last_touched_at": to_micros(segment.last_touched_at),
        "pinned": segment.pinned,
        "generation": segment.generation,
        "gc_survival_count": segment.gc_survival_count,
        "refcount": segment.refcount,
        "file_path": segment.file_path,
        "first_line": first,
        "last_line": last,
        "topic_id": segment.topic_id,
        "tokens": segment.tokens,
        "role": segment.role,
        "task_id": segment.task_id,
        "text": segment.text,
    }
