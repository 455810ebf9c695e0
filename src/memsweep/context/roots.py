"""Roots: what keeps other segments alive, for how long, and which of them give way."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memsweep.model.segment import ContextSegment, require_aware
from memsweep.model.text import counted

SOFT_SHARE = 0.5
"""Soft roots never take more of a budget than this."""


@dataclass(frozen=True, slots=True)
class Focus:
    """The present work of the agent, as far as the caller knows."""

    task_id: str | None = None
    active_file: str | None = None
    line_range: tuple[int, int] | None = None
    open_files: frozenset[str] = frozenset()
    recently_edited: frozenset[str] = frozenset()
    last_n: int = 10
    decision_window: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Roots:
    """Each root with its reason. `ends` are the first and the last user message; `released` are no roots any more."""

    hard: dict[str, str] = field(default_factory=dict)
    soft: dict[str, str] = field(default_factory=dict)
    released: dict[str, str] = field(default_factory=dict)
    """Soft roots that had to give way, and old reads that would be soft roots but for a newer one, without a reason."""
    ends: dict[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> set[str]:
        return {*self.hard, *self.ends, *self.soft}

    @property
    def note(self) -> str:
        """One sentence when soft roots shrank, else nothing."""
        return self.note_on(self.released)

    def note_on(self, going: Collection[str]) -> str:
        """The same of those that go: what gave way as a root may still be worth its tokens."""
        count = sum(1 for own, reason in self.released.items() if reason and own in going)
        return f"{counted(count, 'soft root')}, the oldest, gave way to the budget." if count else ""


def compute_roots(
    segments: Sequence[ContextSegment],
    focus: Focus,
    *,
    now: datetime,
    budget: int | None = None,
    share: float = SOFT_SHARE,
    outdated: Collection[str] = (),
) -> Roots:
    """The roots among segments in session order; a budget makes the soft ones shrink to a share of it, oldest first.

    Unless `last_n` is 0, the first and the last message of the user stay while they fit; both count as a part of that
    share. `outdated` reads are no soft roots.
    """
    require_aware(now, "now")
    recent = recent_messages(segments, focus.last_n)
    hard = {each.segment_id: reason for each in segments if (reason := hard_reason(each, focus))}
    others = [each for each in segments if each.segment_id not in hard]
    room = None if budget is None else budget - sum(each.tokens for each in segments if each.segment_id in hard)
    ends = _ends(others, room) if focus.last_n else {}
    named = [(each, reason) for each in others if (reason := soft_reason(each, focus, now=now, recent=recent))]
    soft = [(each, reason) for each, reason in named if each.segment_id not in ends and each.segment_id not in outdated]
    released = {each.segment_id: "" for each, _ in named if each.segment_id in outdated and each.segment_id not in ends}
    if budget is None or room is None:
        return Roots(hard, {each.segment_id: reason for each, reason in soft}, released, ends)
    most = min(room, int(budget * min(SOFT_SHARE, max(0.0, share))))
    kept, gave_way = _shrink(soft, focus, most - sum(each.tokens for each in others if each.segment_id in ends))
    return Roots(hard, kept, released | gave_way, ends)


def user_ends(segments: Sequence[ContextSegment]) -> list[ContextSegment]:
    """The first and the last message of the user."""
    said = [each for each in segments if each.role == "user" and each.type == "message"]
    return [said[0], said[-1]] if len(said) > 1 else said


def _ends(others: Sequence[ContextSegment], room: int | None) -> dict[str, str]:
    """Return those of the two that fit, the first before the last; without a budget there is room for both."""
    kept: dict[str, str] = {}
    for each, reason in zip(user_ends(others), ("the first user message", "the last user message"), strict=False):
        if room is None or each.tokens <= room:
            kept[each.segment_id] = reason
            room = None if room is None else room - each.tokens
    return kept


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


def _shrink(soft: list[tuple[ContextSegment, str]], focus: Focus, room: int) -> tuple[dict[str, str], dict[str, str]]:
    """Release what is larger than the room; then the oldest until the rest fits, the edited region last."""
    kept = {segment.segment_id: reason for segment, reason in soft}
    tokens = sum(segment.tokens for segment, _ in soft)
    released: dict[str, str] = {}
    too_large = [pair for pair in soft if pair[0].tokens > room]
    for segment, reason in (*too_large, *sorted(soft, key=lambda pair: _in_region(pair[0], focus))):
        if tokens <= max(0, room):
            break
        if segment.segment_id in kept:
            tokens -= segment.tokens
            released[segment.segment_id] = f"{reason}, but it gave way to the budget"
            del kept[segment.segment_id]
    return kept, released
