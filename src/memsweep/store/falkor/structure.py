"""The indexes that a graph has, and those that it should have."""

from __future__ import annotations

import re
import time

from memsweep.errors import StoreAway, StoreBusy, StoreError
from memsweep.store.falkor import care_cypher, cypher
from memsweep.store.falkor.schema import MIGRATIONS, SCHEMA
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.words import CODE_KINDS

_INDEX_SECONDS = 30.0
_INDEX = re.compile(r"CREATE INDEX FOR (?P<pattern>\([^:]*+:(?P<label>\w++).*\)) ON \((?P<names>.*)\)")
_PROPERTY = re.compile(r"\w\.(\w+)")
_FULL_TEXT = re.compile(r"createNodeIndex\({label: '(?P<label>\w+)'.*{field: '(?P<name>\w+)'")


def missing(graph: GraphHandle) -> list[str]:
    """Properties that should have an index and have none, with their labels."""
    return sorted({f"{label}.{name}" for label, name, _ in _wanted().keys() - _there(graph)})


def make(graph: GraphHandle) -> None:
    """Make the indexes that are missing; the server fills them in the background."""
    wanted = _wanted()
    for label, name, kind in sorted(wanted.keys() - _there(graph)):
        try:
            graph.link.change(graph.name, wanted[label, name, kind])
        except StoreError as error:
            if "override" not in error.message:
                raise
            # The label has other indexes, and with them still knows how its full text is made.
            graph.link.change(graph.name, care_cypher.FULL_TEXT_AGAIN, label=label, field=name)


def bring_up_to_date(graph: GraphHandle) -> None:
    """Give an older graph what it lacks, which only makes search better: a server that refuses is left as it is."""
    try:
        make(graph)
        wait(graph)
        for step in care_cypher.FILL:
            graph.link.change(graph.name, step, code_kinds=sorted(CODE_KINDS))
        graph.link.change(graph.name, cypher.SET_SCHEMA, schema=SCHEMA)
    except (StoreAway, StoreBusy):
        raise
    except StoreError:  # no permission, no room, or another process has just made them
        return


def wait(graph: GraphHandle) -> None:
    """An index is made in the background, and a full text that is not ready finds nothing."""
    deadline = time.monotonic() + _INDEX_SECONDS
    while graph.ask(cypher.UNREADY_INDEXES)[0][0]:
        if time.monotonic() > deadline:
            raise StoreBusy(
                f"the indexes of {graph.name} were not ready after {_INDEX_SECONDS:g} s.", hint="Try again."
            )
        time.sleep(0.002)


def _there(graph: GraphHandle) -> set[tuple[str, str, str]]:
    rows = graph.ask(care_cypher.INDEXES)
    return {(label, name, kind) for label, types in rows for name, kinds in types.items() for kind in kinds}


def _wanted() -> dict[tuple[str, str, str], str]:
    """Label, property and kind of every index, and what makes it alone."""
    made: dict[tuple[str, str, str], str] = {}
    for statement in (each for step in MIGRATIONS for each in step):
        if found := _INDEX.match(statement):
            for name in _PROPERTY.findall(found["names"]):
                letter = found["names"][0]
                made[found["label"], name, "RANGE"] = f"CREATE INDEX FOR {found['pattern']} ON ({letter}.{name})"
        elif found := _FULL_TEXT.search(statement):
            made[found["label"], found["name"], "FULLTEXT"] = statement
    return made
