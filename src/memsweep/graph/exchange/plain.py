"""Our own JSON: {"format": "memsweep-graph", "version": 1, "entities": […], "relations": […]}. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memsweep.errors import BadInput
from memsweep.graph.exchange.records import dump_of, entity_record, relation_record
from memsweep.model.graph import GraphDump

FORMAT = "memsweep-graph"
VERSION = 1


def write(dump: GraphDump) -> str:
    entities, relations = map(entity_record, dump.entities), map(relation_record, dump.relations)
    head = f'"format": "{FORMAT}", "version": {VERSION}'
    return f'{{{head}, "entities": {lines(entities)}, "relations": {lines(relations)}}}\n'


def read(text: str, now: datetime) -> GraphDump:
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
            groups["edges" if "source" in _data(element) else "nodes"].append(element)
        elements = groups
    if not isinstance(elements, dict):
        raise BadInput("the JSON has no 'elements' with nodes and edges.")
    nodes, edges = (map(_data, records(elements, name)) for name in ("nodes", "edges"))
    return dump_of(nodes, edges, now)


def _data(element: Any) -> dict[str, Any]:
    data = element.get("data") if isinstance(element, dict) else None
    if not isinstance(data, dict):
        raise BadInput(f"an element has no 'data': {element!r:.60}.")
    return data
