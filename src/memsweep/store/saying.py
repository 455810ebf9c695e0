"""What is known of who said a memory, before somebody has to do with it again."""

from __future__ import annotations

from memsweep.model.memory_act import ExistingMemory, MemoryAct, Mentioned
from memsweep.store.ports.memory_acts import MemoryActRows


def acts_before(acts: MemoryActRows, memory: ExistingMemory, text: str) -> tuple[list[MemoryAct], MemoryAct]:
    """Who has said or updated it, and who said it first if that was not written down."""
    known = acts.of_memories([memory.key])
    return known, memory.said_first(text, Mentioned() if known else acts.own_mentions(memory.key))
