"""Roots: what keeps other segments alive, for how long, and which of them give way."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memsweep.model.segment import ContextSegment, require_aware

SOFT_SHARE = 0.5
"""Soft roots never take more of a budget than this."""


@dataclass(frozen=True, slots=True)
class Focus:
    """What the agent is doing now, as far as the caller knows."""

    task_id: str | None = None
    active_file: str | None = None
    line_range: tuple[int, int] | None = None
    open_files: frozenset[str] = frozenset()
    recently_edited: frozenset[str] = frozenset()
    last_n: int = 10
    decision_window: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Roots:
    """Each root with its reason; `released` are soft roots that had to give way."""

    hard: dict[str, str] = field(default_factory=dict)
    soft: dict[str, str] = field(default_factory=dict)
    released: dict[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> set[str]:
        return {*self.hard, *self.soft}

    @property
    def note(self) -> str:
        """One sentence when soft roots shrank, else nothing."""
        if not self.released:
            return ""
        return f"{len(self.released)} soft roots, the oldest, gave way to the budget."


def compute_roots(
    segments: Sequence[ContextSegment], focus: Focus, *, now: datetime, budget: int | None = None
) -> Roots:
    """The roots among segments in session order; a budget makes the soft ones shrink, oldest first."""
    require_aware(now, "now")
    recent = recent_messages(segments, focus.last_n)
    hard: dict[str, str] = {}
    soft: list[tuple[ContextSegment, str]] = []
    hard_tokens = 0
    for segment in segments:
        if reason := hard_reason(segment, focus):
            hard[segment.segment_id] = reason
            hard_tokens += segment.tokens
        elif reason := soft_reason(segment, focus, now=now, recent=recent):
            soft.append((segment, reason))
    if budget is None:
        return Roots(hard, {segment.segment_id: reason for segment, reason in soft})
    room = min(int(budget * SOFT_SHARE), max(0, budget - hard_tokens))
    return _shrink(hard, soft, focus, room)


def hard_reason(segment: ContextSegment, focus: Focus) -> str | None:
    """Why a segment may never go, or None."""
    if segment.pinned:
        return "pinned"
    if segment.is_invariant:
        return "holds for the whole session"
    if focus.task_id is not None and segment.task_id == focus.task_id:
        return "belongs to the current task"
    return None


def soft_reason(segment: ContextSegment, focus: Focus, *, now: datetime, recent: Collection[str]) -> str | None:
    """Why a segment should stay while there is room, or None."""
    path = segment.file_path
    checks = (
        (segment.segment_id in recent, f"among the last {focus.last_n} messages"),
        (_in_region(segment, focus), "in the edited region"),
        (path is not None and path == focus.active_file, "of the active file"),
        (path in focus.recently_edited, "of a recently edited file"),
        (path in focus.open_files, "of an open file"),
        (segment.type == "decision" and now - segment.created_at <= focus.decision_window, "a recent decision"),
    )
    return next((reason for holds, reason in checks if holds), None)


def recent_messages(segments: Sequence[ContextSegment], last_n: int) -> set[str]:
    """The ids of the last messages."""
    found: set[str] = set()
    for segment in reversed(segments):
        if len(found) >= last_n:
            break
        if segment.type == "message":
            found.add(segment.segment_id)
    return found


def _in_region(segment: ContextSegment, focus: Focus) -> bool:
    if focus.line_range is None or segment.line_range is None or segment.file_path != focus.active_file:
        return False
    return segment.line_range[0] <= focus.line_range[1] and focus.line_range[0] <= segment.line_range[1]


def _shrink(hard: dict[str, str], soft: list[tuple[ContextSegment, str]], focus: Focus, room: int) -> Roots:
    """Let go from the oldest on until the rest fits; the edited region goes last."""
    tokens = sum(segment.tokens for segment, _ in soft)
    kept = {segment.segment_id: reason for segment, reason in soft}
    released: dict[str, str] = {}
    for segment, reason in sorted(soft, key=lambda pair: (_in_region(pair[0], focus), pair[0].created_at)):
        if tokens <= room:
            break
        tokens -= segment.tokens
        released[segment.segment_id] = reason
        del kept[segment.segment_id]
    return Roots(hard, kept, released)
