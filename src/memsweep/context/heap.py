"""The context window as a heap: segments come in, the collector keeps it within its limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from memsweep.context import choosing, recalling, steps
from memsweep.context.engine import Analysis, GCEngine
from memsweep.context.information import Lexicon
from memsweep.context.plan import PruningPlan
from memsweep.context.policy import Policy
from memsweep.context.roots import Focus
from memsweep.context.stash import StashHit
from memsweep.context.step import Limits
from memsweep.context.steps import Judge, Leaving, Left, Strategy
from memsweep.context.weights import Weights
from memsweep.context.window import MemoryWindow
from memsweep.errors import AlreadyExists, NotFound
from memsweep.model.segment import ContextSegment, require_aware
from memsweep.model.window import Held


@dataclass(frozen=True, slots=True)
class Pruned:
    """The result of a prune: ids that were stashed, segments that were deleted, ids refused with the reason."""

    stashed: tuple[str, ...] = ()
    deleted: tuple[ContextSegment, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    tokens_before: int = 0
    tokens_after: int = 0


class ContextHeap:
    """One context window in memory; automatic collections only stash, and restore brings back."""

    def __init__(
        self, *, limits: Limits | None = None, focus: Focus | None = None, weights: Weights | None = None
    ) -> None:
        self.limits = limits or Limits()
        self.focus = focus or Focus()
        self._engine = GCEngine(weights)
        self._lexicon = Lexicon(self._engine.weights)
        self._window = MemoryWindow()

    @property
    def tokens(self) -> int:
        return self._window.state.tokens

    @property
    def segments(self) -> list[ContextSegment]:
        """Return the segments of the window, in session order, counters up to date."""
        return choosing.counted([held.segment for held in self._window.active()])

    @property
    def stashed(self) -> list[ContextSegment]:
        """Return the segments of the stash, in session order."""
        return [held.segment for held in self._window.stashed()]

    def __len__(self) -> int:
        return self._window.state.segments

    def __contains__(self, segment_id: object) -> bool:
        return self._window.is_active(segment_id)

    def get(self, segment_id: str) -> ContextSegment:
        """One segment of the window, counters up to date."""
        (held,) = self._active([segment_id])
        references = self._window.references_to(segment_id)
        return replace(held.segment, refcount=max(held.segment.refcount, references))

    def add(self, segment: ContextSegment, *, now: datetime) -> tuple[str, ...]:
        """Take a segment in; returns the ids that an automatic collection stashed because of it."""
        judge = self._judge(now)
        self._require_new(segment)
        self._window.add([segment])
        self._lexicon.add(segment)
        left = steps.collect_if_due(self._window, judge, 1, self._take_out)
        return tuple(gone.segment_id for gone in left.stashed)

    def touch(self, segment_id: str, *, now: datetime) -> None:
        """It was used just now, as what a new segment refers to is."""
        require_aware(now, "now")
        self._active([segment_id])
        self._window.touch([segment_id], now)

    def pin(self, segment_ids: Iterable[str]) -> None:
        """Keep segments out of every collection."""
        self._window.pin(self._active(segment_ids), True)

    def unpin(self, segment_ids: Iterable[str]) -> None:
        """Let segments be collected again."""
        self._window.pin(self._active(segment_ids), False)

    def analyze(self, *, now: datetime, budget: int | None = None) -> Analysis:
        """Return what could go and why; nothing changes."""
        return steps.analyze(self._window, self._judge(now), budget)[0]

    def collect(self, *, now: datetime, budget: int | None = None, minor: bool = False) -> PruningPlan:
        """Stash what does not fit the budget (the soft limit unless given); a minor one looks at the young."""
        budget = self.limits.soft_tokens if budget is None else budget
        return steps.collect(self._window, self._judge(now), budget, self._take_out, "collected", minor=minor)[0]

    def working_set(self, budget: int, *, now: datetime) -> list[ContextSegment]:
        """Return the segments that a window of this budget would hold, in session order; nothing changes."""
        going = steps.fit(self._window, self._judge(now), budget)[0].segment_ids
        return [segment for segment in self.segments if segment.segment_id not in going]

    def prune(self, segment_ids: Iterable[str], *, strategy: Strategy = "stash", confirm: bool = False) -> Pruned:
        """Take the named segments out; roots and unknown ids are refused by name, the rest proceeds.

        `auto` stashes; `delete` needs the confirmation and hands the segments back to the caller.
        """
        steps.check_strategy(strategy, confirm)
        before = self.tokens
        leaving, refused = steps.choose(self._window, self._policy, segment_ids, strategy, confirm=confirm)
        self._take_out(leaving)
        return self._pruned(leaving, refused, before)

    def compress(self, segment_ids: Iterable[str], summary: ContextSegment, *, now: datetime) -> Pruned:
        """Put a summary in place of segments; it refers to them, and they wait in the stash."""
        require_aware(now, "now")
        self._require_new(summary)
        before = self.tokens
        made, left, refused = steps.compress(
            self._window,
            self._policy,
            segment_ids,
            lambda going: replace(summary, references=(*summary.references, *going)),
            self._take_out,
        )
        self._lexicon.add(made)
        return Pruned(tuple(gone.segment_id for gone in left.stashed), (), refused, before, self.tokens)

    def search(self, query: str, *, limit: int = 10) -> list[StashHit]:
        """Search the stash."""
        found = recalling.search(self._window, query, depth=self._window.state.stashed)
        return [StashHit(*hit) for hit in found[:limit]]

    def restore(self, segment_ids: Iterable[str]) -> list[ContextSegment]:
        """Bring stashed segments back to their places, exactly as they were."""
        back, refused = recalling.by_id(self._window, segment_ids, None)
        if refused:
            raise NotFound(f"Not in the stash: {', '.join(map(repr, refused))}.")
        return self._restored(back)

    def restore_matching(self, query: str, budget: int) -> list[ContextSegment]:
        """Bring back what answers the query, within a token budget, in session order."""
        depth = self._window.state.stashed
        return self._restored(recalling.select(self._window, query, budget, self._lexicon, depth))

    @property
    def _policy(self) -> Policy:
        return Policy(self.limits, self.focus)

    def _judge(self, now: datetime) -> Judge:
        require_aware(now, "now")
        return Judge(self._engine, self._policy, now, self._lexicon, self._window.weak)

    def _take_out(self, leaving: Leaving, why: str = "", refused: Mapping[str, str] | None = None) -> Left:
        self._window.stash([held for held, _ in leaving.stash])
        self._window.forget([held for held, _ in leaving.delete])
        return Left(steps.gone(leaving.stash), steps.gone(leaving.delete))

    def _pruned(self, leaving: Leaving, refused: dict[str, str], before: int) -> Pruned:
        stashed = tuple(held.segment.segment_id for held, _ in leaving.stash)
        deleted = tuple(held.segment for held, _ in leaving.delete)
        return Pruned(stashed, deleted, refused, before, self.tokens)

    def _restored(self, back: list[Held]) -> list[ContextSegment]:
        self._window.restore(back)
        return [held.segment for held in back]

    def _active(self, segment_ids: Iterable[str]) -> list[Held]:
        """Segments of the window by id; nothing is done if one of them is not there."""
        ids = list(dict.fromkeys(segment_ids))
        found = self._window.find(ids)
        for own in ids:
            if own not in found or found[own].stashed:
                raise NotFound(f"No segment {own!r} in the window.")
        return [found[own] for own in ids]

    def _require_new(self, segment: ContextSegment) -> None:
        if self._window.find([segment.segment_id]):
            raise AlreadyExists(f"Segment {segment.segment_id!r} is here already.")
