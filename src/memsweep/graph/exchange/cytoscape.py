"""Cytoscape's JSON: {"elements": {"nodes": [{"data": …}], "edges": [{"data": …}]}}. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memsweep.errors import BadInput
from memsweep.graph.exchange.plain import json_object, lines, records
from memsweep.graph.exchange.records import dump_of, entity_record, relation_record
from memsweep.model.whole_graph import GraphDump


def write(dump: GraphDump) -> str:
    nodes = ({"data": {**entity_record(row), "label": row.name}} for row in dump.entities)
    edges = ({"data": {**relation_record(row), "label": row.relation}} for row in dump.relations)
    return f'{{"elements": {{"nodes": {lines(nodes)}, "edges": {lines(edges)}}}}}\n'


def read(text: str, now: datetime) -> GraphDump:
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
