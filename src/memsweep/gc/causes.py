"""Which item of a plan goes because of which: an entity, or a fact, because the memory goes that spoke of it. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memsweep.model.plan import Kind, PlanItem

_FOLLOWING = {"left_without_root", "brought", "cleared"}
"""Reasons of entities and facts that may go because a memory does."""
Key = tuple[Kind, int]


class Ties(NamedTuple):
    """What connects the items of a plan."""

    mentions: Iterable[tuple[int, int]] = ()
    """Memory and entity."""
    stated: Iterable[tuple[int, int, int]] = ()
    """A memory, and the ends of a fact that it states."""
    links: Iterable[tuple[int, int]] = ()
    """The ends of facts, whoever states them."""
    sources: Iterable[tuple[int, int]] = ()
    """A fact, and a memory that states it."""


class Group(NamedTuple):
    root: PlanItem
    followers: tuple[PlanItem, ...] = ()


def grouped(items: Sequence[PlanItem], ties: Ties) -> list[Group]:
    """Every item once, as a root or with the one that it follows from; the roots in the order of the plan."""
    causes = causes_of(items, ties)
    followers: dict[Key, list[PlanItem]] = defaultdict(list)
    for item in items:
        if (cause := causes.get((item.kind, item.key))) is not None:
            followers[cause].append(item)
    roots = [item for item in items if (item.kind, item.key) not in causes]
    return [Group(item, tuple(followers[item.kind, item.key])) for item in roots]


def causes_of(items: Sequence[PlanItem], ties: Ties) -> dict[Key, Key]:
    """The memory because of which an item goes: of several, the first in the plan, and the nearest."""
    place = {item.key: n for n, item in enumerate(items) if item.kind == "memory"}
    entities = [item.key for item in items if item.kind == "entity" and item.reason in _FOLLOWING]
    facts = {item.key for item in items if item.kind == "relation" and item.reason in _FOLLOWING}
    found: dict[Key, Key] = {}
    for entity, memory in _spread(entities, place, ties).items():
        found["entity", entity] = ("memory", memory)
    stated = [(place[memory], fact, memory) for fact, memory in ties.sources if fact in facts and memory in place]
    for _, fact, memory in sorted(stated):
        found.setdefault(("relation", fact), ("memory", memory))
    return found


def _spread(entities: Sequence[int], place: Mapping[int, int], ties: Ties) -> dict[int, int]:
    """From the entities that a memory speaks of to those that hang on them."""
    wanted = set(entities)
    spoken = [(place[memory], entity, memory) for memory, entity in ties.mentions if memory in place]
    spoken += [(place[memory], end, memory) for memory, *ends in ties.stated if memory in place for end in ends]
    found: dict[int, int] = {}
    for _, entity, memory in sorted(each for each in spoken if each[1] in wanted):
        found.setdefault(entity, memory)
    beside: dict[int, list[int]] = defaultdict(list)
    for left, right in ties.links:
        if left in wanted and right in wanted:
            beside[left].append(right)
            beside[right].append(left)
    waiting = deque(found)
    while waiting:
        here = waiting.popleft()
        for there in sorted(beside[here]):
            if there not in found:
                found[there] = found[here]
                waiting.append(there)
    return found
