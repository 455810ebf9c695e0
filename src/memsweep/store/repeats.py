"""A text that a live memory has and that is said again: what the memory becomes, and what is written down of it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from memsweep.model.memory import MemoryDraft
from memsweep.model.memory_act import ExistingMemory, MemoryAct, Mentioned, Place, said_again
from memsweep.model.times import to_micros
from memsweep.store.memory_acts import MemoryActRows


def acts_before(acts: MemoryActRows, memory: ExistingMemory, text: str) -> tuple[list[MemoryAct], MemoryAct]:
    """Who has said or updated it, and who said it first if that was not written down."""
    known = acts.of_memories([memory.key])
    return known, memory.said_first(text, Mentioned() if known else acts.own_mentions(memory.key))


class Repeat:
    """Made before anything is added to the memory; noted once everything is."""

    def __init__(
        self, acts: MemoryActRows, memory: ExistingMemory, draft: MemoryDraft, content_hash: bytes, now: datetime
    ) -> None:
        self._acts, self._memory, self._draft, self._now = acts, memory, draft, now
        self._text = content_hash.hex()
        self._before = acts_before(acts, memory, self._text)

    def note(self, origin: int | None, mentions: Collection[Place] = ()) -> None:
        """`mentions` are those of what was named beside the text."""
        again = self._memory.said_again(self._draft, self._text, to_micros(self._now), origin, mentions)
        self._acts.add(said_again(*self._before, again))
