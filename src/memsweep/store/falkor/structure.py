"""The indexes that a graph has, and those that it should have."""

from __future__ import annotations

import re

from memsweep.errors import StoreError
from memsweep.store.falkor import care_cypher
from memsweep.store.falkor.schema import MIGRATIONS, SCHEMA
from memsweep.store.falkor.transaction import GraphHandle

_INDEX = re.compile(r"CREATE INDEX FOR (?P<pattern>\([^:]*+:(?P<label>\w++).*\)) ON \((?P<names>.*)\)")
_PROPERTY = re.compile(r"\w\.(\w+)")
_TRIES = 3
_FULL_TEXT = re.compile(r"createNodeIndex\({label: '(?P<label>\w+)'.*{field: '(?P<name>\w+)'")


def missing(graph: GraphHandle) -> list[str]:
    """Properties that should have an index and have none, with their labels."""
    return sorted(f"{label}.{name}" for label, name in _wanted().keys() - _there(graph))


def make(graph: GraphHandle) -> None:
    """Make the indexes that are missing; the server fills them in the background."""
    wanted = _wanted()
    for label, name in sorted(wanted.keys() - _there(graph)):
        try:
            graph.link.change(graph.name, wanted[label, name])
        except StoreError as error:
            if "override" not in error.message:
                raise
            # The label has other indexes, and with them still knows how its full text is made.
            graph.link.change(graph.name, care_cypher.FULL_TEXT_AGAIN, label=label, field=name)


def upgrade(graph: GraphHandle) -> None:
    """Give a graph of an earlier version the indexes of this one; another process may be doing the same."""
    for _ in range(_TRIES):
        try:
            make(graph)
        except StoreError:  # the other was quicker
            continue
        break
    graph.link.change(graph.name, care_cypher.PUT_META, meta={"schema": SCHEMA})


def _there(graph: GraphHandle) -> set[tuple[str, str]]:
    return {(label, name) for label, types in graph.ask(care_cypher.INDEXES) for name in types}


def _wanted() -> dict[tuple[str, str], str]:
    """Label and property of every index, and what makes it alone."""
    made: dict[tuple[str, str], str] = {}
    for statement in (each for step in MIGRATIONS for each in step):
        if found := _INDEX.match(statement):
            for name in _PROPERTY.findall(found["names"]):
                letter = found["names"][0]
                made[found["label"], name] = f"CREATE INDEX FOR {found['pattern']} ON ({letter}.{name})"
        elif found := _FULL_TEXT.search(statement):
            made[found["label"], found["name"]] = statement
    return made
