"""The context window as a heap: segments come in, the collector keeps it within its limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from memsweep.context.engine import Analysis, GCEngine
from memsweep.context.information import Lexicon
from memsweep.context.plan import PruningPlan, plan_to_free
from memsweep.context.roots import Focus, hard_reason
from memsweep.context.stash import Hit, Stash
from memsweep.context.step import Limits, choose_batch, due, judge_few, next_full, survived, to_examine
from memsweep.context.weights import Weights
from memsweep.context.window import Window
from memsweep.errors import AlreadyExists, BadInput, NotFound, Unconfirmed
from memsweep.model.segment import ContextSegment, PruningCandidate, require_aware

Strategy = Literal["auto", "stash", "delete"]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune did: ids that were stashed, segments that were deleted, ids refused with the reason."""

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
        self._window = Window()
        self._stash = Stash()
        self._changes = 0
        self._full_from = 0

    @property
    def tokens(self) -> int:
        return self._window.tokens

    @property
    def segments(self) -> list[ContextSegment]:
        """What is in the window, in session order, counters up to date."""
        return [self._counted(segment) for segment in self._window]

    @property
    def stashed(self) -> list[ContextSegment]:
        """What is in the stash, in session order."""
        return list(self._stash)

    def __len__(self) -> int:
        return len(self._window)

    def __contains__(self, segment_id: object) -> bool:
        return segment_id in self._window

    def get(self, segment_id: str) -> ContextSegment:
        """One segment of the window, counters up to date."""
        return self._counted(self._window[segment_id])

    def add(self, segment: ContextSegment, *, now: datetime) -> tuple[str, ...]:
        """Take a segment in; returns the ids that an automatic collection stashed because of it."""
        require_aware(now, "now")
        self._require_new(segment)
        self._window.put(segment)
        self._lexicon.add(segment)
        for target in segment.references:
            if target in self._window:
                self.touch(target, now=segment.created_at)
        return self._changed(now)

    def touch(self, segment_id: str, *, now: datetime) -> None:
        """It was used just now, as what a new segment refers to is."""
        require_aware(now, "now")
        segment = self._window[segment_id]
        if segment.last_touched_at < now:
            self._window.change(replace(segment, last_touched_at=now))

    def pin(self, segment_ids: Iterable[str]) -> None:
        """Keep segments out of every collection."""
        self._set_pinned(segment_ids, True)

    def unpin(self, segment_ids: Iterable[str]) -> None:
        """Let segments be collected again."""
        self._set_pinned(segment_ids, False)

    def analyze(self, *, now: datetime, budget: int | None = None) -> Analysis:
        """What could go and why; nothing changes."""
        return self._engine.analyze(self.segments, now=now, focus=self.focus, budget=budget, lexicon=self._lexicon)

    def collect(self, *, now: datetime, budget: int | None = None, minor: bool = False) -> PruningPlan:
        """Stash what does not fit the budget (the soft limit unless given); a minor one looks at the young."""
        budget = self.limits.soft_tokens if budget is None else budget
        if budget < 0:
            raise BadInput("A budget cannot be negative.")
        seen = self.analyze(now=now, budget=budget)
        looked_at = [
            candidate
            for candidate in seen.candidates
            if not minor or self._window[candidate.segment_id].generation == "young"
        ]
        plan = plan_to_free(looked_at, max(0, seen.tokens - budget))
        self._move_to_stash(plan.stash_segments)
        self._survived(self._window if not minor else [s for s in self._window if s.generation == "young"])
        return plan

    def working_set(self, budget: int, *, now: datetime) -> list[ContextSegment]:
        """What a window of this budget would hold, in session order; nothing changes."""
        seen = self.analyze(now=now, budget=budget)
        plan = plan_to_free(seen.candidates, max(0, seen.tokens - budget))
        going = plan.segment_ids
        return [segment for segment in self.segments if segment.segment_id not in going]

    def prune(self, segment_ids: Iterable[str], *, strategy: Strategy = "stash", confirm: bool = False) -> Pruned:
        """Take the named segments out; roots and unknown ids are refused by name, the rest proceeds.

        `auto` stashes; `delete` needs the confirmation and hands the segments back to the caller.
        """
        if strategy == "delete" and not confirm:
            raise Unconfirmed("Deleting needs a confirmation.", hint="Pass confirm=true, or stash instead.")
        before = self.tokens
        refused: dict[str, str] = {}
        going: list[str] = []
        for own in dict.fromkeys(segment_ids):
            reason = self._refusal(own)
            if reason:
                refused[own] = reason
            else:
                going.append(own)
        if strategy == "delete":
            deleted = tuple(self._window.take(own) for own in going)
            return Pruned((), deleted, refused, before, self.tokens)
        self._move_to_stash(going)
        return Pruned(tuple(going), (), refused, before, self.tokens)

    def compress(self, segment_ids: Iterable[str], summary: ContextSegment, *, now: datetime) -> Pruned:
        """Put a summary in place of segments; it refers to them, and they wait in the stash."""
        require_aware(now, "now")
        self._require_new(summary)
        before = self.tokens
        pruned = self.prune(segment_ids)
        self.add(replace(summary, references=(*summary.references, *pruned.stashed)), now=now)
        return replace(pruned, tokens_before=before, tokens_after=self.tokens)

    def search(self, query: str, *, limit: int = 10) -> list[Hit]:
        """Search the stash."""
        return self._stash.search(query, limit=limit)

    def restore(self, segment_ids: Iterable[str]) -> list[ContextSegment]:
        """Bring stashed segments back to their places, exactly as they were."""
        ids = list(dict.fromkeys(segment_ids))
        unknown = [own for own in ids if own not in self._stash]
        if unknown:
            raise NotFound(f"Not in the stash: {', '.join(map(repr, unknown))}.")
        restored = [self._stash.take(own) for own in ids]
        for segment in restored:
            self._window.put(segment)
        return restored

    def restore_matching(self, query: str, budget: int) -> list[ContextSegment]:
        """Bring back what answers the query, within a token budget, in session order."""
        return self.restore(segment.segment_id for segment in self._stash.select(query, budget))

    def _changed(self, now: datetime) -> tuple[str, ...]:
        """The automatic part: full near the hard limit, else a small step now and then."""
        self._changes += 1
        match due(self.limits, self.tokens, self._changes, 1, self._full_from):
            case "full":
                plan = self.collect(now=now)
                self._full_from = next_full(self.limits, self.tokens)
                return plan.stash_segments
            case "step":
                return self._step(now)
        return ()

    def _step(self, now: datetime) -> tuple[str, ...]:
        """Look at a few segments; above the soft limit, stash a small batch of them."""
        found = to_examine(self.limits, self._window.next_to_examine)
        examined = sorted(found, key=lambda segment: self._window.place(segment.segment_id))
        excess = self.tokens - self.limits.soft_tokens
        batch = choose_batch(self._judge(examined, now), excess, self.limits) if excess > 0 else ()
        going = tuple(candidate.segment_id for candidate in batch)
        self._move_to_stash(going)
        self._survived(segment for segment in examined if segment.segment_id in self._window)
        return going

    def _judge(self, examined: list[ContextSegment], now: datetime) -> list[PruningCandidate]:
        return judge_few(
            self._engine,
            examined,
            self.focus,
            now=now,
            recent=self._window.last_messages(self.focus.last_n),
            referenced={s.segment_id for s in examined if self._window.references_to(s.segment_id)},
            lexicon=self._lexicon,
            weak=self._window.weak,
        )

    def _move_to_stash(self, segment_ids: Iterable[str]) -> None:
        for own in segment_ids:
            segment = self._window[own]
            # In the stash before it leaves the window: whatever goes wrong, it is somewhere.
            self._stash.put(segment, self._window.place(own), self._lexicon.information(segment))
            self._window.take(own)

    def _survived(self, segments: Iterable[ContextSegment]) -> None:
        for segment in list(segments):
            self._window.change(survived(segment, self.limits))

    def _require_new(self, segment: ContextSegment) -> None:
        if segment.segment_id in self._window or segment.segment_id in self._stash:
            raise AlreadyExists(f"Segment {segment.segment_id!r} is here already.")

    def _refusal(self, segment_id: str) -> str | None:
        if segment_id not in self._window:
            return "in the stash already" if segment_id in self._stash else "unknown"
        return hard_reason(self._window[segment_id], self.focus)

    def _set_pinned(self, segment_ids: Iterable[str], pinned: bool) -> None:
        for segment in [self._window[own] for own in segment_ids]:
            self._window.change(replace(segment, pinned=pinned))

    def _counted(self, segment: ContextSegment) -> ContextSegment:
        references = self._window.references_to(segment.segment_id)
        return segment if references <= segment.refcount else replace(segment, refcount=references)
