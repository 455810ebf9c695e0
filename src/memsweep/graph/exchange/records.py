"""Rows of the graph as records of plain values, and back, with every value checked. Pure.

A record leaves out what is unknown. Reading is generous: what another program left out has a default,
what it added is ignored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from memsweep.errors import BadInput
from memsweep.model.checks import fitting, flag, share
from memsweep.model.graph import ExportedEntity, ExportedRelation, GraphDump
from memsweep.model.memory import DEFAULT_TYPE
from memsweep.model.text import check_text
from memsweep.model.times import iso, parse_time

Record = dict[str, Any]

LONGEST_NAME = 2000
_iso = lru_cache(maxsize=100_000)(iso)  # a batch has one moment for all of its facts


def entity_record(row: ExportedEntity) -> Record:
    return _record(row._asdict())


def relation_record(row: ExportedRelation) -> Record:
    return _record(row._asdict())


def dump_of(entities: Iterable[Mapping[str, Any]], relations: Iterable[Mapping[str, Any]], now: datetime) -> GraphDump:
    """A graph from records; every relation must lead from and to one of the entities."""
    things = tuple(_entity(record, now) for record in entities)
    ids = Counter(thing.id for thing in things)
    if twice := [own for own, count in ids.items() if count > 1]:
        raise BadInput(f"the entity id {twice[0]!r:.60} is in the file twice.")
    facts = tuple(_relation(record, number, now) for number, record in enumerate(relations))
    for fact in facts:
        for end in (fact.source, fact.target):
            if end not in ids:
                raise BadInput(f"relation {fact.id!r:.60} leads to {end!r:.60}, which is not among the entities.")
    return GraphDump(things, facts)


def _record(values: Mapping[str, Any]) -> Record:
    return {
        name: _iso(value) if isinstance(value, datetime) else value
        for name, value in values.items()
        if value is not None
    }


def _entity(record: Mapping[str, Any], now: datetime) -> ExportedEntity:
    if not isinstance(record, Mapping):
        raise BadInput(f"an entity must be an object, not {record!r:.60}.")
    own = _id(record.get("id"), "an entity's id")
    name = record.get("name") or record.get("label") or own
    created, seen = _times(record, now)
    return ExportedEntity(
        id=own,
        name=_text(name, "an entity's name"),
        type=_text(record.get("type") or DEFAULT_TYPE, "an entity's type"),
        confidence=share(record.get("confidence", 1.0), f"the confidence of {own!r:.60}"),
        handed_in=flag(record.get("handed_in", True), "handed_in"),
        pinned=flag(record.get("pinned", False), "pinned"),
        created_at=created,
        last_seen=seen,
        aliases=_aliases(record.get("aliases"), own),
    )


def _aliases(value: object, own: str) -> str | None:
    if value is None:
        return None
    try:
        pairs = json.loads(value) if isinstance(value, str) else None
        names = [[_text(part, "another name") for part in pair] for pair in pairs]  # type: ignore[union-attr]
        if not all(len(pair) == 2 for pair in names):
            raise ValueError
    except (TypeError, ValueError, RecursionError):
        raise BadInput(f"the aliases of {own!r:.60} are not pairs of name and type: {value!r:.60}.") from None
    return json.dumps(names, ensure_ascii=False, separators=(",", ":"))


def _relation(record: Mapping[str, Any], number: int, now: datetime) -> ExportedRelation:
    if not isinstance(record, Mapping):
        raise BadInput(f"a relation must be an object, not {record!r:.60}.")
    own = _id(record.get("id", f"relation {number}"), "a relation's id")
    name = record.get("relation") or record.get("interaction") or record.get("label") or "RELATED_TO"
    created, seen = _times(record, now)
    evidence = record.get("evidence", 1)
    if isinstance(evidence, bool) or not isinstance(evidence, int) or not 0 <= evidence < 2**62:
        raise BadInput(f"the evidence of {own!r:.60} must be a whole number, not {evidence!r:.40}.")
    # What is written knows whether a weight is unknown; what others wrote has the usual one.
    weight = record.get("weight") if "evidence" in record else record.get("weight", 1.0)
    return ExportedRelation(
        id=own,
        source=_id(record.get("source"), f"the source of {own!r:.60}"),
        target=_id(record.get("target"), f"the target of {own!r:.60}"),
        relation=_text(name, "a relation's name"),
        weight=None if weight is None else share(weight, f"the weight of {own!r:.60}"),
        evidence=evidence,
        handed_in=flag(record.get("handed_in", True), "handed_in"),
        created_at=created,
        last_seen=seen,
        valid_at=_time(record, "valid_at"),
        invalid_at=_time(record, "invalid_at"),
    )


def _times(record: Mapping[str, Any], now: datetime) -> tuple[datetime, datetime]:
    """Return the dates of a record. One without a date counts as said now; else it would be faded at once."""
    created, seen = _time(record, "created_at"), _time(record, "last_seen")
    seen = seen or max(now, created or now)
    return created or min(now, seen), seen


def _time(record: Mapping[str, Any], name: str) -> datetime | None:
    value = record.get(name)
    return None if value in (None, "") else parse_time(value, name)


def _id(value: object, what: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return check_text(value, what, max_bytes=4 * LONGEST_NAME)


def _text(value: object, what: str) -> str:
    return fitting(check_text(value, what, max_bytes=4 * LONGEST_NAME), what, LONGEST_NAME)


# Our own JSON: {"format": "memsweep-graph", "version": 1, "entities": […], "relations": […]}. Pure.


FORMAT = "memsweep-graph"
VERSION = 1


def write_json(dump: GraphDump) -> str:
    entities, relations = map(entity_record, dump.entities), map(relation_record, dump.relations)
    head = f'"format": "{FORMAT}", "version": {VERSION}'
    return f'{{{head}, "entities": {lines(entities)}, "relations": {lines(relations)}}}\n'


def read_json(text: str, now: datetime) -> GraphDump:
    graph = json_object(text)
    if graph.get("format", FORMAT) != FORMAT or graph.get("version", VERSION) != VERSION:
        said = f"{graph.get('format')!r:.40}, version {graph.get('version')!r:.20}"
        raise BadInput(f"the file is in the format {said}; only {FORMAT}, version {VERSION} can be read.")
    return dump_of(records(graph, "entities"), records(graph, "relations"), now)


def lines(records: Iterable[Any]) -> str:
    """A JSON list with a line for each record, so that files can be compared."""
    listed = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    return f"[\n{listed}\n]" if listed else "[]"


def json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the text is not JSON ({error}).", hint="Name the format if it is another.") from None
    if not isinstance(value, dict):
        raise BadInput(f"the JSON must be an object, not {type(value).__name__}.")
    return value


def records(graph: dict[str, Any], name: str) -> list[Any]:
    items = graph.get(name, [])
    if not isinstance(items, list):
        raise BadInput(f"{name!r} must be a list, not {type(items).__name__}.")
    return items


def write_cytoscape(dump: GraphDump) -> str:
    nodes = ({"data": {**entity_record(row), "label": row.name}} for row in dump.entities)
    edges = ({"data": {**relation_record(row), "label": row.relation}} for row in dump.relations)
    return f'{{"elements": {{"nodes": {lines(nodes)}, "edges": {lines(edges)}}}}}\n'


def read_cytoscape(text: str, now: datetime) -> GraphDump:
    elements = json_object(text).get("elements")
    if isinstance(elements, list):  # the flat form: what has a source is an edge
        groups: dict[str, list[Any]] = {"nodes": [], "edges": []}
        for element in elements:
            groups["edges" if "source" in _data_of(element) else "nodes"].append(element)
        elements = groups
    if not isinstance(elements, dict):
        raise BadInput("the JSON has no 'elements' with nodes and edges.")
    nodes, edges = (map(_data_of, records(elements, name)) for name in ("nodes", "edges"))
    return dump_of(nodes, edges, now)


def _data_of(element: Any) -> dict[str, Any]:
    data = element.get("data") if isinstance(element, dict) else None
    if not isinstance(data, dict):
        raise BadInput(f"an element has no 'data': {element!r:.60}.")
    return data
