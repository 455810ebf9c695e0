"""The strategies: each a pure rule that names garbage, with a reason for each item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from memsweep.collector.strategies import (
    decayed,
    duplicates,
    empty_memories,
    expired,
    missing_files,
    origin,
    orphaned_chunks,
    orphaned_entities,
    stale_code,
    superseded,
    unreachable_entities,
)
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
    "stale_code": Strategy(stale_code.find, CASCADE),
    "missing_files": Strategy(missing_files.find, CASCADE | {"files"}),
    "orphaned_chunks": Strategy(orphaned_chunks.find, frozenset({"lone chunks"})),
    "orphaned_entities": Strategy(orphaned_entities.find, frozenset({"graph"})),
    # It takes no memories, so what one of them speaks of stays as it is.
    "unreachable_entities": Strategy(unreachable_entities.find, frozenset({"unmentioned graph", "statements"})),
    "expired": Strategy(expired.find, CASCADE),
    "empty_memories": Strategy(empty_memories.find, CASCADE | {"chunk counts"}),
    "duplicates": Strategy(duplicates.find, CASCADE | {"texts", "supersessions", "chunk counts"}),
    # It takes no memories, and may still take most of what is known.
    "decayed": Strategy(decayed.find, frozenset({"relations"}), ("memory", "entity", "relation")),
    "superseded": Strategy(superseded.find, CASCADE | {"relations", "supersessions"}),
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
