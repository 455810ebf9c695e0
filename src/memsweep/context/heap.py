"""The context window as a heap: segments come in, the collector keeps it within its limits."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from memsweep.context import choosing, recalling, steps
from memsweep.context.engine import Analysis, GCEngine
from memsweep.context.plan import PruningPlan
from memsweep.context.policy import Policy
from memsweep.context.reading import Lexicon
from memsweep.context.references import WeakLinks
from memsweep.context.roots import Focus
from memsweep.context.stash import StashHit, StashIndex
from memsweep.context.step import Limits
from memsweep.context.steps import Leaving, Left, Strategy, WindowJudge
from memsweep.context.weights import Weights
from memsweep.errors import AlreadyExists, NotFound
from memsweep.model.segment import ContextSegment, Generation, require_aware
from memsweep.model.window import StoredSegment, WindowState


class MemoryWindow:
    """Answers as an open window of a store does; adding, moving and changing a segment cost the same at any size.

    The key of a segment is its place in the session, which it keeps for ever.
    """

    def __init__(self) -> None:
        self.state = WindowState()
        self.weak = WeakLinks()
        self._active: dict[str, StoredSegment] = {}
        self._stashed: dict[str, StoredSegment] = {}
        self._places: dict[str, int] = {}
        self._ids: list[str] = []
        self._messages: list[str] = []
        self._sources: dict[str, set[str]] = {}
        self._of_files: dict[str, set[str]] = {}
        self._turns: dict[Generation, OrderedDict[str, None]] = {"young": OrderedDict(), "old": OrderedDict()}
        self._words = StashIndex()

    def active(self) -> list[StoredSegment]:
        return sorted(self._active.values(), key=_place)

    def stashed(self) -> list[StoredSegment]:
        return sorted(self._stashed.values(), key=_place)

    def find(self, segment_ids: Iterable[str]) -> dict[str, StoredSegment]:
        found = ((own, self._active.get(own) or self._stashed.get(own)) for own in segment_ids)
        return {own: held for own, held in found if held is not None}

    def ever_known(self, segment_ids: Iterable[str]) -> set[str]:
        """Return the known ones; what was deleted was handed back and is not known any more."""
        return set(self.find(segment_ids))

    def is_active(self, segment_id: object) -> bool:
        return segment_id in self._active

    def next_to_examine(self, count: int, generation: Generation) -> list[StoredSegment]:
        turns = self._turns[generation]
        found = list(islice(turns, count))
        for own in found:
            turns.move_to_end(own)
        return [self._active[own] for own in found]

    def of_files(self, paths: Iterable[str]) -> list[StoredSegment]:
        found = {own for path in paths for own in self._of_files.get(path, ())}
        return sorted((self._active[own] for own in found), key=_place)

    def last_messages(self, count: int) -> set[str]:
        live = (own for own in reversed(self._messages) if own in self._active)
        return set(islice(live, count))

    def references_to(self, segment_id: str) -> int:
        """Return how many active segments refer to it, itself not counted."""
        sources = self._sources.get(segment_id, ())
        return len(sources) - (segment_id in sources)

    def referenced(self, segment_ids: Iterable[str]) -> set[str]:
        return {own for own in segment_ids if self.references_to(own)}

    def matches(self, query: str, count: int) -> dict[int, float]:
        scores = self._words.scores(query)
        if len(scores) <= count:
            return scores
        return dict(heapq.nsmallest(count, scores.items(), key=lambda found: (-found[1], found[0])))

    def stashed_at(self, places: Iterable[int]) -> dict[int, StoredSegment]:
        known = (place for place in places if 0 <= place < len(self._ids))
        found = ((place, self._stashed.get(self._ids[place])) for place in known)
        return {place: held for place, held in found if held is not None}

    def add(self, segments: Iterable[ContextSegment]) -> None:
        """Add segments. Those that a new one refers to were touched when it was made."""
        for segment in segments:
            place = self._place_of(segment)
            self._enter(StoredSegment(place, 0, place, False, segment))
            self.touch(segment.references, segment.created_at)
            self.state.changes += 1

    def touch(self, segment_ids: Iterable[str], at: datetime) -> None:
        """Active segments were used at this time."""
        for own in segment_ids:
            held = self._active.get(own)
            if held is not None and held.segment.last_touched_at < at:
                self._change(replace(held.segment, last_touched_at=at))

    def age(self, survivors: Iterable[tuple[int, ContextSegment]]) -> None:
        for _, segment in survivors:
            self._change(segment)

    def pin(self, held: Iterable[StoredSegment], pinned: bool) -> None:
        for each in held:
            self._change(replace(each.segment, pinned=pinned))

    def stash(self, held: Sequence[StoredSegment]) -> None:
        for each in held:
            # In the stash before it leaves the window: whatever goes wrong, it is somewhere.
            self._words.put(each.place, each.segment.text)
            self._stashed[each.segment.segment_id] = each._replace(stashed=True)
            self._leave(each)
            self.state.stashed += 1

    def restore(self, held: Sequence[StoredSegment]) -> None:
        for each in held:
            self._enter(each._replace(stashed=False))
            self._unstash(each)

    def forget(self, held: Sequence[StoredSegment]) -> None:
        """Neither active nor stashed any more."""
        for each in held:
            if each.stashed:
                self._unstash(each)
            else:
                self._leave(each)

    def _place_of(self, segment: ContextSegment) -> int:
        """A new one, unless a segment of this id was here before."""
        own = segment.segment_id
        if own not in self._places:
            self._places[own] = len(self._ids)
            self._ids.append(own)
            if segment.type == "message":
                self._messages.append(own)
        return self._places[own]

    def _enter(self, held: StoredSegment) -> None:
        segment, own = held.segment, held.segment.segment_id
        self._active[own] = held
        self._turns[segment.generation][own] = None
        self.weak.add(segment)
        for target in segment.references:
            self._sources.setdefault(target, set()).add(own)
        if segment.file_path is not None:
            self._of_files.setdefault(segment.file_path, set()).add(own)
        self.state.tokens += segment.tokens
        self.state.segments += 1

    def _leave(self, held: StoredSegment) -> None:
        segment, own = held.segment, held.segment.segment_id
        del self._active[own]
        del self._turns[segment.generation][own]
        self.weak.discard(segment)
        for target in segment.references:
            self._sources[target].discard(own)
        if segment.file_path is not None:
            self._of_files[segment.file_path].discard(own)
        self.state.tokens -= segment.tokens
        self.state.segments -= 1

    def _unstash(self, held: StoredSegment) -> None:
        del self._stashed[held.segment.segment_id]
        self._words.take(held.place)
        self.state.stashed -= 1

    def _change(self, segment: ContextSegment) -> None:
        """Put a new state in place of the old one; only flags, counters and times may differ."""
        own = segment.segment_id
        before = self._active[own]
        if before.segment.generation != segment.generation:
            del self._turns[before.segment.generation][own]
            self._turns[segment.generation][own] = None
        self._active[own] = before._replace(segment=segment)


def _place(held: StoredSegment) -> int:
    return held.place


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

    def _judge(self, now: datetime) -> WindowJudge:
        require_aware(now, "now")
        return WindowJudge(self._engine, self._policy, now, self._lexicon, self._window.weak)

    def _take_out(self, leaving: Leaving, why: str = "", refused: Mapping[str, str] | None = None) -> Left:
        self._window.stash([held for held, _ in leaving.stash])
        self._window.forget([held for held, _ in leaving.delete])
        return Left(steps.gone(leaving.stash), steps.gone(leaving.delete))

    def _pruned(self, leaving: Leaving, refused: dict[str, str], before: int) -> Pruned:
        stashed = tuple(held.segment.segment_id for held, _ in leaving.stash)
        deleted = tuple(held.segment for held, _ in leaving.delete)
        return Pruned(stashed, deleted, refused, before, self.tokens)

    def _restored(self, back: list[StoredSegment]) -> list[ContextSegment]:
        self._window.restore(back)
        return [held.segment for held in back]

    def _active(self, segment_ids: Iterable[str]) -> list[StoredSegment]:
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
