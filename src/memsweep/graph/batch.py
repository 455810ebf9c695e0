"""Check what is handed to the graph, secrets included. Every refusal names the value and what to do. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memsweep.errors import BadInput
from memsweep.model.checks import few, one_line, only, share
from memsweep.model.gate import Gate
from memsweep.model.graph import GraphBatch, GraphDump, RelationDraft
from memsweep.model.memory import NamedThing
from memsweep.model.times import parse_time

_ENTITY_FIELDS = ("local_id", "name", "type")
_RELATION_FIELDS = ("from", "relation", "replaces", "source", "to", "valid_at", "weight")


def one_relation(
    from_entity: object,
    to_entity: object,
    relation: object,
    *,
    from_type: object = None,
    to_type: object = None,
    weight: object = 1.0,
    valid_at: object = None,
    replaces: bool = False,
    source: str = "",
) -> GraphBatch:
    """A single relation; ends that are not known yet are made."""
    draft = RelationDraft(
        subject=_end(from_entity, from_type, "from_entity"),
        relation=one_line(relation, "relation"),
        object=_end(to_entity, to_type, "to_entity"),
        weight=share(weight, "weight"),
        valid_at=None if valid_at in (None, "") else parse_time(valid_at, "valid_at"),
        replaces=bool(replaces),
        source=source,
    )
    return GraphBatch((), (draft,))


def many_relations(batch: object) -> GraphBatch:
    """`{entities: [{local_id, name, type}], relations: [{from, to, relation}]}`; ends are local ids or known names."""
    if not isinstance(batch, Mapping):
        raise BadInput(f"batch must be an object with entities and relations, not {type(batch).__name__}.")
    only(batch, ("entities", "relations"), "batch")
    local: dict[str, NamedThing] = {}
    for item in _items(batch, "entities"):
        only(item, _ENTITY_FIELDS, "an entity of the batch")
        thing = NamedThing(one_line(item.get("name"), "an entity's name"), _type(item.get("type")))
        name = one_line(item.get("local_id") or thing.name, "local_id")
        if name in local:
            raise BadInput(f"local_id {name!r:.60} is in the batch twice.")
        local[name] = thing
    relations = tuple(_relation(item, local) for item in _items(batch, "relations"))
    if not local and not relations:
        raise BadInput("the batch is empty.", hint="Give entities, relations, or both.")
    return GraphBatch(tuple(local.values()), relations)


def _relation(item: Mapping[str, Any], local: Mapping[str, NamedThing]) -> RelationDraft:
    only(item, _RELATION_FIELDS, "a relation of the batch")
    ends = [one_line(item.get(end), f"a relation's {end!r}") for end in ("from", "to")]
    valid_at = item.get("valid_at")
    return RelationDraft(
        subject=local.get(ends[0], ends[0]),
        relation=one_line(item.get("relation"), "a relation's name"),
        object=local.get(ends[1], ends[1]),
        weight=share(item.get("weight", 1.0), "a relation's weight"),
        valid_at=None if valid_at in (None, "") else parse_time(valid_at, "valid_at"),
        replaces=item.get("replaces") is True,
        source=one_line(item["source"], "a relation's source") if item.get("source") else "",
    )


def _end(name: object, kind: object, what: str) -> NamedThing:
    return NamedThing(one_line(name, what), _type(kind))


def _type(value: object) -> str:
    return one_line(value, "a type") if value else ""


def _items(batch: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = batch.get(name) or []
    if not isinstance(items, list | tuple) or not all(isinstance(item, Mapping) for item in items):
        raise BadInput(f"batch.{name} must be a list of objects.")
    return few(list(items), f"batch.{name}")


# Names and facts on their way into the graph: no secret is stored that the settings do not let in. Pure.


def passed_batch(batch: GraphBatch, gate: Gate) -> GraphBatch:
    """Facts as they may be stored."""
    return GraphBatch(
        tuple(gate.thing(each) for each in batch.entities),
        tuple(
            replace(
                each,
                subject=_passed_end(each.subject, gate),
                relation=gate.text(each.relation, "a relation"),
                object=_passed_end(each.object, gate),
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


def _passed_end(end: NamedThing | str, gate: Gate) -> NamedThing | str:
    return gate.text(end, "an entity's name") if isinstance(end, str) else gate.thing(end)
