"""A piece of an agent's context window, and the judgement that it could go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from memsweep.errors import BadInput
from memsweep.model.tokens import estimate_tokens

SegmentType = Literal["message", "code", "log", "note", "decision", "summary"]
Role = Literal["system", "user", "assistant", "tool"]
Generation = Literal["young", "old"]
Action = Literal["stash", "delete", "compress"]

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
                known = ", ".join(str(each) for each in allowed if each is not None)
                raise BadInput(
                    f"{name} cannot be {getattr(self, name)!r:.60} in segment {self.segment_id!r:.80}.",
                    hint=f"Use one of: {known}.",
                )
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


_CLOSED: dict[str, tuple[object, ...]] = {
    "type": get_args(SegmentType),
    "generation": get_args(Generation),
    "role": (*get_args(Role), None),
}


class PruningCandidate(NamedTuple):
    """A segment that could go; `compress` asks the agent for a summary to leave in its place."""

    segment_id: str
    type: SegmentType
    tokens: int
    keep_score: float
    reachable: bool
    reasons: tuple[str, ...]
    action: Action = "stash"
    beside: tuple[str, ...] = ()
    """Segments that must stay if this stays: the call of a result, the newer read of a file."""

    @property
    def prune_score(self) -> float:
        return prune_score(self.keep_score)


def prune_score(score: float) -> float:
    """The same judgement the other way round: higher means prune."""
    return 1.0 - score


def require_aware(moment: datetime, name: str) -> datetime:
    """A naive time would be hours off somewhere, so it is refused here."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise BadInput(f"{name} has no time zone.", hint="Hand in an aware UTC datetime.")
    return moment
