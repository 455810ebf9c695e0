"""The law of who keeps a relation: what becomes of one that a memory states no more. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple


def stands_alone(explicit: bool, evidence: int, statements: int) -> bool:
    """Return whether somebody stated it by itself, not only with memories (but for files), each of which counts once.

    Those in the trash count as well: the evidence still has theirs.
    """
    return explicit and evidence > statements


class Unstated(NamedTuple):
    """A relation, and who states it still: the receipts that hold them, or nothing for a live memory."""

    relation: int
    explicit: bool
    trash: int | None
    """The receipt that holds the relation itself, if it is not live."""
    holders: tuple[int | None, ...] = ()


Fate = Literal["free", "stay"] | int
"""A number is the receipt that it goes to."""


def fate_of(each: Unstated) -> Fate:
    """It stays with a live memory, goes along with those in the trash, and ends with the last one that stated it."""
    if each.explicit or None in each.holders:
        return "stay"
    receipts = [holder for holder in each.holders if holder is not None]
    if not receipts:
        return "free"
    return max(receipts) if each.trash is None else "stay"


def settled(relations: Iterable[Unstated]) -> tuple[set[int], dict[int, int]]:
    """Relations that end, and those that go to the trash, with their receipts."""
    fates = {each.relation: fate_of(each) for each in relations}
    moved = {key: fate for key, fate in fates.items() if isinstance(fate, int)}
    return {key for key, fate in fates.items() if fate == "free"}, moved
