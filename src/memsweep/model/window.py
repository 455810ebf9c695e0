"""One context window as it is kept and as it answers: its state, what an operation did to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memsweep.model.origin import Origin
from memsweep.model.segment import Action, ContextSegment, PruningCandidate, SegmentType


@dataclass(slots=True)
class WindowState:
    """The state of a window beside its segments; `config` and `focus` are as told last."""

    tokens: int = 0
    segments: int = 0
    stashed: int = 0
    changes: int = 0
    full_from: int = 0
    counted_by: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    focus: Mapping[str, Any] = field(default_factory=dict)

    def count_added(self, segment: ContextSegment) -> None:
        self.tokens += segment.tokens
        self.segments += 1
        self.changes += 1

    def count_stashed(self, held: Sequence[StoredSegment]) -> None:
        self._count_active(held, -1)
        self.stashed += len(held)

    def count_restored(self, held: Sequence[StoredSegment]) -> None:
        self._count_active(held, +1)
        self.stashed -= len(held)

    def count_trashed(self, held: Sequence[StoredSegment]) -> None:
        active = [each for each in held if not each.stashed]
        self._count_active(active, -1)
        self.stashed -= len(held) - len(active)

    def _count_active(self, held: Sequence[StoredSegment], sign: int) -> None:
        self.segments += sign * len(held)
        self.tokens += sign * sum(each.segment.tokens for each in held)


class WindowRow(NamedTuple):
    """A window in a list of windows: how much is in it and in its stash."""

    project_id: str
    tokens: int
    segments: int
    stashed: int
    counted_by: str


class StoredSegment(NamedTuple):
    """A segment as it is kept; `place` is where it stands in the session, for ever."""

    key: int
    version: int
    place: int
    stashed: bool
    segment: ContextSegment


@dataclass(frozen=True, slots=True)
class WindowChange:
    """The answer of every operation on a window: the tokens before and after, and how they were counted."""

    tokens_before: int
    tokens_after: int
    counted_by: str


@dataclass(frozen=True, slots=True)
class Gone:
    """A segment that left the window, and why."""

    segment_id: str
    tokens: int
    reasons: tuple[str, ...]
    text: str = ""
    """Its beginning."""


@dataclass(frozen=True, slots=True)
class Added:
    change: WindowChange
    segment_ids: tuple[str, ...]
    known: tuple[str, ...] = ()
    """Ids that were here already and were left as they are."""
    stashed: tuple[Gone, ...] = ()
    """Segments that an automatic collection took out because of this."""
    receipt_id: str | None = None
    notes: tuple[str, ...] = ()
    compacted: tuple[str, ...] = ()
    """Segments that the client itself had summarised: they are in the stash."""
    bookmark: Mapping[str, Any] = field(default_factory=dict)
    """Of a session file: hand it in with the lines that are written from now on."""


@dataclass(frozen=True, slots=True)
class Analyzed:
    change: WindowChange
    soft_tokens: int
    hard_tokens: int
    tokens_by_type: Mapping[SegmentType, int]
    candidates: Sequence[PruningCandidate]
    planned: frozenset[str]
    plan_id: str | None
    reason: str
    shortfall: int
    notes: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """The beginnings of the candidates."""


@dataclass(frozen=True, slots=True)
class StripSegment:
    """A segment as a part of its window: what it is worth (1 for a root), why it stays, or why it would go."""

    segment_id: str
    type: SegmentType
    role: str | None
    tokens: int
    keep_score: float
    root: str
    """Why nothing takes it now; empty if it is no root."""
    goes: bool
    action: Action | None
    reasons: tuple[str, ...]
    pinned: bool
    text: str
    """Its beginning."""


@dataclass(frozen=True, slots=True)
class WindowStrip:
    """Every segment of a window in order, judged for a budget of tokens."""

    change: WindowChange
    """As it would be if what would go went."""
    budget: int
    soft_tokens: int
    hard_tokens: int
    segments: tuple[StripSegment, ...]
    stashed: int
    shortfall: int
    reason: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StashPage:
    """A part of the stash, the last place first."""

    segments: tuple[ContextSegment, ...]
    first: int
    total: int
    next_cursor: str | None
    origins: Mapping[str, Origin] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of a prune, a restore, a pin or a compression; `refused` goes by id, with the reason."""

    change: WindowChange
    stashed: tuple[Gone, ...] = ()
    deleted: tuple[Gone, ...] = ()
    restored: tuple[ContextSegment, ...] = ()
    pinned: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    receipt_id: str | None = None
    summary_id: str | None = None
    notes: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """The beginnings of segments that were pinned or refused, as far as they are known."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """The origins of restored segments, by id."""


@dataclass(frozen=True, slots=True)
class Configured:
    change: WindowChange
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StashFound:
    change: WindowChange
    hits: tuple[tuple[ContextSegment, float], ...]
    stashed: int
    beside: frozenset[str] = frozenset()
    """Ids of hits that do not match themselves: they stand beside one that does."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """The origins of hits, by id."""


@dataclass(frozen=True, slots=True)
class WorkingSet:
    change: WindowChange
    segments: tuple[ContextSegment, ...]
    left_out: int
    shortfall: int
