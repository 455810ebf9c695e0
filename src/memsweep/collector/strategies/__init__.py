"""The strategies: each a pure rule that names garbage, with a reason for each item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from memsweep.collector.strategies import duplicates, entities, memories, origin
from memsweep.collector.strategies.rule import Options
from memsweep.errors import BadInput
from memsweep.model.plan import Found, Kind, Survey
from memsweep.model.strategies import ALIASES, ALL, NAMES

Need = Literal[
    "graph",
    "unmentioned graph",
    "relations",
    "statements",
    "ways",
    "lone chunks",
    "chunk counts",
    "texts",
    "files",
    "supersessions",
    "origins",
]
Rule = Callable[[Survey, Options], Iterable[Found]]


@dataclass(frozen=True, slots=True)
class Strategy:
    """A rule and what it must see; every survey has the memories."""

    find: Rule
    needs: frozenset[Need] = frozenset()
    capped: tuple[Kind, ...] = ("memory",)
    """Of what it may not take more than half unless that was asked for."""


# What removes memories may leave entities without a root, so it must see the graph, and which memory states what.
CASCADE: frozenset[Need] = frozenset({"graph", "statements"})
STRATEGIES: dict[str, Strategy] = {
    "stale_code": Strategy(memories.stale_code, CASCADE),
    "missing_files": Strategy(memories.missing_files, CASCADE | {"files"}),
    "orphaned_chunks": Strategy(entities.orphaned_chunks, frozenset({"lone chunks"})),
    "orphaned_entities": Strategy(entities.orphaned_entities, frozenset({"graph"})),
    # It takes no memories, so what one of them speaks of stays as it is.
    "unreachable_entities": Strategy(entities.unreachable_entities, frozenset({"unmentioned graph", "statements"})),
    "expired": Strategy(memories.expired, CASCADE),
    "empty_memories": Strategy(memories.empty_memories, CASCADE | {"chunk counts"}),
    "duplicates": Strategy(duplicates.find, CASCADE | {"texts", "supersessions", "chunk counts"}),
    # It takes no memories, and may still take most of what is known.
    "decayed": Strategy(entities.decayed, frozenset({"relations"}), ("memory", "entity", "relation")),
    "superseded": Strategy(memories.superseded, CASCADE | {"relations", "supersessions"}),
    "origin": Strategy(origin.find, CASCADE | {"relations", "origins"}, ("memory", "entity", "relation")),
}


def resolve(name: str) -> tuple[str, ...]:
    """The strategies behind a name."""
    if name == "all":
        return ALL
    name = ALIASES.get(name, name)
    if name not in STRATEGIES:
        raise BadInput(f"Invalid strategy {name!r:.60}. Valid: {', '.join(NAMES)}")
    return (name,)
