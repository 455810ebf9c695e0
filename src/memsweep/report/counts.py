"""Put counts into words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from memsweep.model.text import counted, listed

_ONE = {"memories": "memory", "entities": "entity"}


class ItemCounts(Protocol):
    """The totals of a plan, a receipt, an undo or a purge."""

    @property
    def memories(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    @property
    def entities(self) -> int: ...
    @property
    def relations(self) -> int: ...
    @property
    def segments(self) -> int: ...


def amount(counts: ItemCounts, workspaces: int = 0, revisions: int = 0) -> str:
    """Return all counts above zero in words: `1 memory, 2 entities and 1 relation`; empty where there is nothing.

    The chunks of a memory go with it, so they are named only where they go alone.
    """
    numbers = {
        "memories": counts.memories,
        "chunks": 0 if counts.memories else counts.chunks,
        "entities": counts.entities,
        "relations": counts.relations,
        "segments": counts.segments,
        "revisions": revisions,
        "workspaces": workspaces,
    }
    parts = nonzero(numbers)
    return listed(parts) if parts else ""


def nonzero(numbers: Mapping[str, int]) -> list[str]:
    """Each number with its noun, but for zeros; the names are plurals."""
    return [named(number, name) for name, number in numbers.items() if number]


def named(number: int, name: str) -> str:
    """A number with the noun whose plural is given."""
    return counted(number, _ONE.get(name, name.removesuffix("s")), name)


def moved(counts: ItemCounts) -> str:
    """Return a sentence on what a removal moved to the trash."""
    what = amount(counts)
    return f"Moved {what} to the trash." if what else "Nothing was moved to the trash."


def moved_with_a_way_back(counts: ItemCounts, receipt_id: str) -> str:
    return f"{moved(counts)} {way_back(counts, receipt_id)}." if amount(counts) else moved(counts)


def way_back(counts: ItemCounts, receipt_id: str) -> str:
    return f"undo_prune with {receipt_id} brings {'it' if is_one(counts) else 'them'} back"


def is_one(counts: ItemCounts) -> bool:
    return counts.memories + counts.entities + counts.relations + counts.segments == 1


def stayed(changed: ItemCounts, receipt_id: str) -> str:
    """Return a further sentence on what a retraction changed and did not remove."""
    if not (what := amount(changed)):
        return ""
    stays = "stays" if is_one(changed) else "stay"
    return f" {what} {stays} without what was taken back; undo_prune with {receipt_id} gives it back."


def restored(back: ItemCounts, given_back: ItemCounts) -> str:
    """Return a sentence on what an undo restored, and on what it gave back to others."""
    what, given = amount(back), amount(given_back)
    if not given:
        return f"Restored {what}." if what else "Nothing was restored."
    return f"{f'Restored {what}. ' if what else ''}Gave back to {given} what was taken back."
