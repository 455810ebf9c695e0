"""An open context window in memory, with every index kept up as segments come and go."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from memsweep.context.references import WeakLinks
from memsweep.context.stash import StashIndex
from memsweep.model.segment import ContextSegment, Generation
from memsweep.model.window import Held, WindowState


class MemoryWindow:
    """Answers as an open window of a store does; adding, moving and changing a segment cost the same at any size.

    The key of a segment is its place in the session, which it keeps for ever.
    """

    def __init__(self) -> None:
        self.state = WindowState()
        self.weak = WeakLinks()
        self._active: dict[str, Held] = {}
        self._stashed: dict[str, Held] = {}
        self._places: dict[str, int] = {}
        self._ids: list[str] = []
        self._messages: list[str] = []
        self._sources: dict[str, set[str]] = {}
        self._of_files: dict[str, set[str]] = {}
        self._turns: dict[Generation, OrderedDict[str, None]] = {"young": OrderedDict(), "old": OrderedDict()}
        self._words = StashIndex()

    def active(self) -> list[Held]:
        return sorted(self._active.values(), key=_place)

    def stashed(self) -> list[Held]:
        return sorted(self._stashed.values(), key=_place)

    def find(self, segment_ids: Iterable[str]) -> dict[str, Held]:
        found = ((own, self._active.get(own) or self._stashed.get(own)) for own in segment_ids)
        return {own: held for own, held in found if held is not None}

    def ever_known(self, segment_ids: Iterable[str]) -> set[str]:
        """Return the known ones; what was deleted was handed back and is not known any more."""
        return set(self.find(segment_ids))

    def is_active(self, segment_id: object) -> bool:
        return segment_id in self._active

    def next_to_examine(self, count: int, generation: Generation) -> list[Held]:
        turns = self._turns[generation]
        found = list(islice(turns, count))
        for own in found:
            turns.move_to_end(own)
        return [self._active[own] for own in found]

    def of_files(self, paths: Iterable[str]) -> list[Held]:
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

    def stashed_at(self, places: Iterable[int]) -> dict[int, Held]:
        known = (place for place in places if 0 <= place < len(self._ids))
        found = ((place, self._stashed.get(self._ids[place])) for place in known)
        return {place: held for place, held in found if held is not None}

    def add(self, segments: Iterable[ContextSegment]) -> None:
        """Add segments. Those that a new one refers to were touched when it was made."""
        for segment in segments:
            place = self._place_of(segment)
            self._enter(Held(place, 0, place, False, segment))
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

    def pin(self, held: Iterable[Held], pinned: bool) -> None:
        for each in held:
            self._change(replace(each.segment, pinned=pinned))

    def stash(self, held: Sequence[Held]) -> None:
        for each in held:
            # In the stash before it leaves the window: whatever goes wrong, it is somewhere.
            self._words.put(each.place, each.segment.text)
            self._stashed[each.segment.segment_id] = each._replace(stashed=True)
            self._leave(each)
            self.state.stashed += 1

    def restore(self, held: Sequence[Held]) -> None:
        for each in held:
            self._enter(each._replace(stashed=False))
            self._unstash(each)

    def forget(self, held: Sequence[Held]) -> None:
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

    def _enter(self, held: Held) -> None:
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

    def _leave(self, held: Held) -> None:
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

    def _unstash(self, held: Held) -> None:
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


def _place(held: Held) -> int:
    return held.place
