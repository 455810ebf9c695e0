"""The live segments of one window, with every index kept up as they come and go."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice

from memsweep.context.references import WeakLinks
from memsweep.errors import NotFound
from memsweep.model.segment import ContextSegment, Generation


class Window:
    """What is in the context window now; adding, taking and changing one cost the same at any size."""

    def __init__(self) -> None:
        self._live: dict[str, ContextSegment] = {}
        self._places: dict[str, int] = {}
        self._messages: list[str] = []
        self._sources: dict[str, set[str]] = {}
        self._turns: dict[Generation, OrderedDict[str, None]] = {"young": OrderedDict(), "old": OrderedDict()}
        self.weak = WeakLinks()
        self.tokens = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, segment_id: object) -> bool:
        return segment_id in self._live

    def __iter__(self) -> Iterator[ContextSegment]:
        """In session order."""
        return iter(sorted(self._live.values(), key=lambda segment: self._places[segment.segment_id]))

    def __getitem__(self, segment_id: str) -> ContextSegment:
        try:
            return self._live[segment_id]
        except KeyError:
            raise NotFound(f"No segment {segment_id!r} in the window.") from None

    def place(self, segment_id: str) -> int:
        """The segment's place in the session, kept for ever once it is given."""
        return self._places[segment_id]

    def put(self, segment: ContextSegment) -> None:
        """Add a segment; one that was here before comes back to its old place."""
        own = segment.segment_id
        if own not in self._places:
            self._places[own] = len(self._places)
            if segment.type == "message":
                self._messages.append(own)
        self._live[own] = segment
        self._turns[segment.generation][own] = None
        self.weak.add(segment)
        self.tokens += segment.tokens
        for target in segment.references:
            self._sources.setdefault(target, set()).add(own)

    def take(self, segment_id: str) -> ContextSegment:
        """Remove a segment and hand it back."""
        segment = self[segment_id]
        del self._live[segment_id]
        del self._turns[segment.generation][segment_id]
        self.weak.discard(segment)
        self.tokens -= segment.tokens
        for target in segment.references:
            self._sources[target].discard(segment_id)
        return segment

    def change(self, segment: ContextSegment) -> None:
        """Put a new state in place of the old one; only flags, counters and times may differ."""
        own = segment.segment_id
        if (before := self._live[own].generation) != segment.generation:
            del self._turns[before][own]
            self._turns[segment.generation][own] = None
        self._live[own] = segment

    def references_to(self, segment_id: str) -> int:
        """How many live segments refer to it, itself not counted."""
        sources = self._sources.get(segment_id, ())
        return len(sources) - (segment_id in sources)

    def last_messages(self, count: int) -> set[str]:
        """The ids of the last live messages."""
        found: set[str] = set()
        for own in reversed(self._messages):
            if len(found) >= count:
                break
            if own in self._live:
                found.add(own)
        return found

    def next_to_examine(self, count: int, generation: Generation) -> list[ContextSegment]:
        """A few segments of a generation, in turn, so that small steps come round to everything."""
        turns = self._turns[generation]
        found = list(islice(turns, count))
        for own in found:
            turns.move_to_end(own)
        return [self._live[own] for own in found]
