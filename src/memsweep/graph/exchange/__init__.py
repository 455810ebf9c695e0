"""The graph in the forms of other programs, written and read again without loss. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from memsweep.errors import BadInput
from memsweep.graph.exchange import graphml, records
from memsweep.graph.exchange.records import Record, dump_of, entity_record, relation_record
from memsweep.model.graph import ExportedEntity, ExportedRelation, GraphDump

# Cypher: one CREATE a line for each entity and each relation, which Neo4j and FalkorDB take. Text is written as JSON
# writes it, which Cypher reads the same way. Only such files are read again: this is no Cypher engine.

_LABEL = r"`(?:[^`]++|``)*+`"
_FLAT = r"\{(?:[^\"{}]++|\"(?:[^\"\\]++|\\.)*+\")*+\}"
_NODE = re.compile(rf"CREATE \(:Entity:{_LABEL} (\{{.*\}})\);")
_EDGE = re.compile(
    rf"MATCH \(a:Entity ({_FLAT})\), \(b:Entity ({_FLAT})\) CREATE \(a\)-\[:{_LABEL} (\{{.*\}})\]->\(b\);"
)
_NAME = re.compile(r"(\w++): ")
_NOT_IN_LABEL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\]")
_BREAK = re.compile("[\x85\u2028\u2029]")
_BREAKS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def write_cypher(dump: GraphDump) -> str:
    lines = [
        "// A knowledge graph of memsweep. An index first makes the relations quick:",
        "// CREATE INDEX FOR (e:Entity) ON (e.id);",
        *(_node(row) for row in dump.entities),
        *(_edge(row) for row in dump.relations),
    ]
    return "\n".join(lines) + "\n"


def read_cypher(text: str, now: datetime) -> GraphDump:
    nodes: list[Record] = []
    edges: list[Record] = []
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("//"):
            continue
        if found := _NODE.fullmatch(line):
            nodes.append(_map(found[1], number))
        elif found := _EDGE.fullmatch(line):
            source, target, own = (_map(part, number) for part in found.groups())
            edges.append({**own, "source": source.get("id"), "target": target.get("id")})
        else:
            raise BadInput(
                f"line {number} is not a statement that export_graph writes: {line[:60]!r}.",
                hint="Only Cypher that was exported here is read.",
            )
    return dump_of(nodes, edges, now)


def _node(row: ExportedEntity) -> str:
    return f"CREATE (:Entity:{_label(row.type)} {_properties(entity_record(row))});"


def _edge(row: ExportedRelation) -> str:
    own = {name: value for name, value in relation_record(row).items() if name not in ("source", "target")}
    ends = f"MATCH (a:Entity {_properties({'id': row.source})}), (b:Entity {_properties({'id': row.target})})"
    return f"{ends} CREATE (a)-[:{_label(row.relation)} {_properties(own)}]->(b);"


def _label(name: str) -> str:
    """A label says the same as the property of that name; what a label cannot say is left to the property."""
    return "`" + _NOT_IN_LABEL.sub(" ", name).replace("`", "``") + "`"


def _properties(record: Record) -> str:
    return "{" + ", ".join(f"{name}: {_value(value)}" for name, value in record.items()) + "}"


def _value(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False)
    return _BREAK.sub(lambda found: _BREAKS[found.group()], written)


def _map(text: str, number: int) -> Record:
    """`{name: value, …}` with values as JSON writes them."""
    found: Record = {}
    decoder, at = json.JSONDecoder(), 1
    while at < len(text) - 1:
        name = _NAME.match(text, at)
        if name is None:
            raise BadInput(f"line {number} has no property at {text[at : at + 30]!r}.")
        try:
            found[name[1]], at = decoder.raw_decode(text, name.end())
        except (ValueError, RecursionError):
            raise BadInput(f"line {number}: the value of {name[1]} cannot be read.") from None
        at += 2 if text.startswith(", ", at) else 0
    return found


class ExchangeForm(NamedTuple):
    """A file format of a graph: its writer, its reader (what has no date is dated now), and its ending."""

    write: Callable[[GraphDump], str]
    read: Callable[[str, datetime], GraphDump]
    ending: str


FORMS: dict[str, ExchangeForm] = {
    "json": ExchangeForm(records.write_json, records.read_json, ".json"),
    "graphml": ExchangeForm(graphml.write, graphml.read, ".graphml"),
    "cytoscape": ExchangeForm(records.write_cytoscape, records.read_cytoscape, ".cyjs"),
    "cypher": ExchangeForm(write_cypher, read_cypher, ".cypher"),
}


def form(name: str) -> ExchangeForm:
    found = FORMS.get(name) if isinstance(name, str) else None
    if found is None:
        raise BadInput(f"format {name!r:.40} is unknown.", hint=f"Use one of: {', '.join(FORMS)}.")
    return found


def format_of_file(name: str) -> str:
    """By the ending of a file's name; JSON where it says nothing."""
    endings = {form.ending: key for key, form in FORMS.items()}
    return next((key for ending, key in endings.items() if name.lower().endswith(ending)), "json")


def format_of_text(text: str) -> str:
    """By what it begins with, for the reader of a file that says nothing else."""
    begin = text.lstrip("\ufeff \t\r\n")
    if begin.startswith("<"):
        return "graphml"
    if not begin.startswith("{"):
        return "cypher"
    head = begin[:2000]
    found = {word: head.find(f'"{word}"') for word in ("elements", "entities")}
    first = min((word for word in found if found[word] >= 0), key=found.__getitem__, default="")
    return "cytoscape" if first == "elements" else "json"
