"""Names and facts on their way into the graph: no secret is stored that the settings do not let in. Pure."""

from __future__ import annotations

import json
from dataclasses import replace

from memsweep.model.gate import Gate
from memsweep.model.graph import GraphBatch, GraphDump
from memsweep.model.memory import NamedThing


def passed_batch(batch: GraphBatch, gate: Gate) -> GraphBatch:
    """Facts as they may be stored."""
    return GraphBatch(
        tuple(gate.thing(each) for each in batch.entities),
        tuple(
            replace(
                each,
                subject=_end(each.subject, gate),
                relation=gate.text(each.relation, "a relation"),
                object=_end(each.object, gate),
            )
            for each in batch.relations
        ),
    )


def passed_dump(dump: GraphDump, gate: Gate) -> GraphDump:
    """A graph that is imported, as it may be stored."""
    return GraphDump(
        tuple(
            each._replace(
                name=gate.text(each.name, "an entity's name"),
                type=gate.text(each.type, "an entity's type"),
                aliases=_aliases(each.aliases, gate),
            )
            for each in dump.entities
        ),
        tuple(each._replace(relation=gate.text(each.relation, "a relation")) for each in dump.relations),
    )


def _aliases(aliases: str | None, gate: Gate) -> str | None:
    if aliases is None or gate.text(aliases, "an alias") == aliases:
        return aliases
    return json.dumps(gate.json(json.loads(aliases), "an alias"), ensure_ascii=False)


def _end(end: NamedThing | str, gate: Gate) -> NamedThing | str:
    return gate.text(end, "an entity's name") if isinstance(end, str) else gate.thing(end)
