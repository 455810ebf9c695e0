"""A context window, its segments and its receipts as the values that every engine keeps of them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from memsweep.model.segment import ContextSegment
from memsweep.model.stored import to_json
from memsweep.model.times import from_micros, to_micros
from memsweep.model.window import Held, WindowState
from memsweep.store.plans import CONTEXT


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


def stored_segment(row: Sequence[Any], listed: Callable[[Any], Sequence[str]]) -> Held:
    """From the columns that every engine gives; `listed` reads a list as it is stored."""
    key, version, place, stashed, uid, kind, created, touched, pinned, generation, survived, refcount, *rest = row
    path, first, last, tags, topic, tokens, role, task, references, text = rest
    segment = ContextSegment(
        segment_id=uid,
        text=text,
        type=kind,
        created_at=from_micros(created),
        last_touched_at=from_micros(touched),
        pinned=bool(pinned),
        generation=generation,
        gc_survival_count=survived,
        refcount=refcount,
        file_path=path,
        line_range=None if first is None else (first, last),
        tags=tuple(listed(tags)),
        topic_id=topic,
        tokens=tokens,
        role=role,
        task_id=task,
        references=tuple(listed(references)),
    )
    return Held(key, version, place, bool(stashed), segment)


def state_values(state: WindowState) -> dict[str, Any]:
    return {
        "tokens": state.tokens,
        "segments": state.segments,
        "stashed": state.stashed,
        "changes": state.changes,
        "full_from": state.full_from,
        "counted_by": state.counted_by,
        "config": to_json(dict(state.config)),
        "focus": to_json(dict(state.focus)),
    }


def receipt_values(stashed: int, deleted: int, refused: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {"counts": to_json({"segments": deleted, "stashed": stashed}), "skipped": to_json(list(refused))}


def strategy_of(project_id: str) -> str:
    """What a receipt of a window has for a strategy."""
    return f"{CONTEXT}{project_id}"
