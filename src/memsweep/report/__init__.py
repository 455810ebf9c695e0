"""Results in words and in JSON: one wording for every door. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Protocol

from memsweep.model.text import counted, listed
from memsweep.model.times import iso

Answer = dict[str, Any]
"""An answer as JSON has it. docs/tools.md explains every field, and tests compare it with what comes."""


def fields(value: Any, *names: str) -> Answer:
    """Return fields of a value as JSON has them: these, or all of them in their order."""
    return {name: as_json(getattr(value, name)) for name in names or type(value).__match_args__}


def filled(value: Any, *names: str) -> Answer:
    """Return those of these fields that hold something."""
    return {name: each for name, each in fields(value, *names).items() if each}


def as_json(value: Any) -> Any:
    """Return a value of ours as JSON has it: values inside become objects, moments text."""
    match value:
        case None | str() | int() | float():
            return value
        case datetime():
            return iso(value)
        case date():
            return value.isoformat()
        case Mapping():
            return {name: as_json(each) for name, each in value.items()}
    if getattr(value, "__match_args__", ()):
        return fields(value)
    return [as_json(each) for each in value]


def skips(pairs: Any) -> list[Answer]:
    """Return what was left alone, each with its reason."""
    return [{"id": own, "reason": reason} for own, reason in pairs]


_COUNTED = ("memories", "chunks", "entities", "relations", "segments")
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


def amount(counts: ItemCounts, **more: int) -> str:
    """Return all counts above zero in words: `1 memory, 2 entities and 1 relation`; empty where there is nothing."""
    return amount_in({name: getattr(counts, name) for name in _COUNTED} | more)


def amount_in(numbers: Mapping[str, int]) -> str:
    """The same of the counts in an answer. The chunks of a memory go with it: they are named where they go alone."""
    known = {name: numbers.get(name, 0) for name in (*_COUNTED, "revisions", "workspaces")}
    parts = nonzero({**known, "chunks": 0} if known["memories"] else known)
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
