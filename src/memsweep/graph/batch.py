"""Check what is handed to the graph. Every refusal names the value and what to do. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsweep.errors import BadInput
from memsweep.model.graph import GraphBatch, RelationDraft
from memsweep.model.memory import NamedThing
from memsweep.model.text import check_text
from memsweep.model.times import parse_time

MAX_ITEMS = 1000
_ENTITY_FIELDS = {"local_id", "name", "type"}
_RELATION_FIELDS = {"from", "to", "relation", "weight", "valid_at", "replaces", "source"}


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
        relation=label(relation, "relation"),
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
    only(batch, {"entities", "relations"}, "batch")
    local: dict[str, NamedThing] = {}
    for item in _items(batch, "entities"):
        only(item, _ENTITY_FIELDS, "an entity of the batch")
        thing = NamedThing(label(item.get("name"), "an entity's name"), _type(item.get("type")))
        name = label(item.get("local_id") or thing.name, "local_id")
        if name in local:
            raise BadInput(f"local_id {name!r:.60} is in the batch twice.")
        local[name] = thing
    relations = tuple(_relation(item, local) for item in _items(batch, "relations"))
    if not local and not relations:
        raise BadInput("the batch is empty.", hint="Give entities, relations, or both.")
    return GraphBatch(tuple(local.values()), relations)


def label(value: object, what: str) -> str:
    text = " ".join(check_text(value, what, max_bytes=800).split())
    if len(text) > 200:
        raise BadInput(f"{what} has {len(text)} characters; at most 200 are accepted.")
    return text


def share(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:  # NaN is neither
        raise BadInput(f"{what} must be a number from 0 to 1, not {value!r:.40}.")
    return float(value)


def _relation(item: Mapping[str, Any], local: Mapping[str, NamedThing]) -> RelationDraft:
    only(item, _RELATION_FIELDS, "a relation of the batch")
    ends = [label(item.get(end), f"a relation's {end!r}") for end in ("from", "to")]
    valid_at = item.get("valid_at")
    return RelationDraft(
        subject=local.get(ends[0], ends[0]),
        relation=label(item.get("relation"), "a relation's name"),
        object=local.get(ends[1], ends[1]),
        weight=share(item.get("weight", 1.0), "a relation's weight"),
        valid_at=None if valid_at in (None, "") else parse_time(valid_at, "valid_at"),
        replaces=item.get("replaces") is True,
        source=label(item["source"], "a relation's source") if item.get("source") else "",
    )


def _end(name: object, kind: object, what: str) -> NamedThing:
    return NamedThing(label(name, what), _type(kind))


def _type(value: object) -> str:
    return label(value, "a type") if value else ""


def _items(batch: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = batch.get(name) or []
    if not isinstance(items, list | tuple) or not all(isinstance(item, Mapping) for item in items):
        raise BadInput(f"batch.{name} must be a list of objects.")
    if len(items) > MAX_ITEMS:
        raise BadInput(f"batch.{name} has {len(items)} items; at most {MAX_ITEMS} are accepted.")
    return list(items)


def flag(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{what} must be true or false, not {value!r:.40}.")
    return value


def only(item: Mapping[str, Any], known: set[str], what: str) -> None:
    if unknown := sorted(str(key) for key in item.keys() - known):
        raise BadInput(f"{what} has no field {unknown[0]!r:.60}; it has {', '.join(sorted(known))}.")
