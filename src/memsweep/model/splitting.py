"""A part of an entity that became an entity of its own, and what of it can go back. Pure.

A split *stands* until its receipt is undone or purged, as a merge does. Undoing it gives back what it moved, and what
came to the new entity since stays there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from memsweep.model.graph_rows import Move, RelationRecord
from memsweep.model.merging import Place

SPLIT = "split"
SPLIT_ENDS = ("split subject", "split object")
SPLIT_MENTION = "split mention"
SPLIT_NAME = "split name"
_CERTAIN = 1.0


class Parts(NamedTuple):
    """The two entities of a split."""

    old: int
    new: int


def given_by_split(at: int) -> tuple[Any, ...]:
    """The strength that naming an entity gives it: somebody has looked at it."""
    return _CERTAIN, at, int(True), int(False)


def places_back(
    relations: Iterable[RelationRecord], moves: Iterable[Move], new: int, there: Collection[int]
) -> dict[int, Place]:
    """Return the old places of relations that a split moved and that are still at `new`; only to ends in `there`."""
    was: dict[int, dict[str, int | None]] = defaultdict(dict)
    for move in moves:
        was[move.a][move.kind] = move.c
    found = {}
    for each in relations:
        wanted = (
            was[each.key].get(kind) if end == new else None for kind, end in zip(SPLIT_ENDS, each.ends, strict=True)
        )
        subject, target = (end if back is None else back for back, end in zip(wanted, each.ends, strict=True))
        if (subject, target) != each.ends and {subject, target} <= {*there, *each.ends}:
            found[each.key] = (subject, each.kind, target)
    return found


def clashing(
    places: Mapping[int, Place], relations: Iterable[RelationRecord], taken: Iterable[RelationRecord]
) -> dict[int, RelationRecord]:
    """Of current relations that would go back, those where another says the same by now, and which that is."""
    there = {each.place: each for each in taken if each.key not in places}
    found = {}
    for each in sorted(relations):
        if each.key not in places or not each.is_current:
            continue
        if (other := there.get(places[each.key])) is not None:
            found[each.key] = other
        else:
            there[places[each.key]] = each
    return found
