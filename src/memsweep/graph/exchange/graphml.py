"""GraphML, which networkx, Gephi and yEd open. Pure.

XML has no way to hold some characters that a name may have; those are written as `\\u0001`, and a
backslash that could be mistaken for such a sign is written that way itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from memsweep.errors import BadInput
from memsweep.graph.exchange.records import Record, dump_of, entity_record, relation_record
from memsweep.model.graph import ExportedEntity, ExportedRelation, GraphDump

_SPACE = "http://graphml.graphdrawing.org/xmlns"
_TYPES = {
    "confidence": "double",
    "weight": "double",
    "evidence": "long",
    "handed_in": "boolean",
    "pinned": "boolean",
}
_ATTRIBUTES = {
    "node": [name for name in ExportedEntity._fields if name != "id"],
    "edge": [name for name in ExportedRelation._fields if name not in ("id", "source", "target")],
}
_NOT_IN_XML = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]|\\\\(?=u[0-9a-f]{4})")
_SIGN = re.compile(r"\\u([0-9a-f]{4})")


def write(dump: GraphDump) -> str:
    return "\n".join(_lines(dump)) + "\n"


def read(text: str, now: datetime) -> GraphDump:
    if "<!DOCTYPE" in text:
        raise BadInput("the GraphML has a DOCTYPE, which is refused.", hint="Remove it.")
    try:
        root = ElementTree.fromstring(text.removeprefix("\ufeff"))
    except (ElementTree.ParseError, ValueError) as error:
        raise BadInput(f"the text is not XML ({error}).", hint="Name the format if it is another.") from None
    graph = next((element for element in root if _tag(element) == "graph"), None)
    if _tag(root) != "graphml" or graph is None:
        raise BadInput("the XML is not GraphML: it has no <graph>.")
    keys = {key.get("id"): (key.get("attr.name"), key.get("attr.type")) for key in root if _tag(key) == "key"}
    nodes = [{"id": _shown(each.get("id")), **_data(each, keys)} for each in graph if _tag(each) == "node"]
    edges = [
        {**_ids(each), **_data(each, keys)}
        for each in graph
        if _tag(each) == "edge" and each.get("source") and each.get("target")
    ]
    return dump_of(nodes, edges, now)


def _lines(dump: GraphDump) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<graphml xmlns="{_SPACE}">'
    for kind, names in _ATTRIBUTES.items():
        for name in names:
            value = _TYPES.get(name, "string")
            yield f'<key id="{kind}_{name}" for="{kind}" attr.name="{name}" attr.type="{value}"/>'
    yield '<graph id="memsweep" edgedefault="directed">'
    for thing in dump.entities:
        yield f"<node id={_quoted(thing.id)}>{_written('node', entity_record(thing))}</node>"
    for fact in dump.relations:
        ends = f"source={_quoted(fact.source)} target={_quoted(fact.target)}"
        yield f"<edge id={_quoted(fact.id)} {ends}>{_written('edge', relation_record(fact))}</edge>"
    yield "</graph>"
    yield "</graphml>"


def _written(kind: str, record: Record) -> str:
    return "".join(
        f'<data key="{kind}_{name}">{_value(record[name])}</data>' for name in _ATTRIBUTES[kind] if name in record
    )


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape(_signed(value)) if isinstance(value, str) else repr(value)


def _quoted(value: str) -> str:
    return quoteattr(_signed(value), {"\n": "&#10;", "\t": "&#9;"})


def _signed(text: str) -> str:
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _shown(text: str | None) -> str | None:
    return None if text is None else _SIGN.sub(lambda found: chr(int(found[1], 16)), text)


def _ids(edge: ElementTree.Element) -> Record:
    named = {name: _shown(edge.get(name)) for name in ("id", "source", "target")}
    return {name: value for name, value in named.items() if value is not None}


def _data(element: ElementTree.Element, keys: dict[str | None, tuple[str | None, str | None]]) -> Record:
    found: Record = {}
    for data in element:
        name, kind = keys.get(data.get("key"), (None, None))
        if _tag(data) == "data" and name and name not in ("id", "source", "target"):
            found[name] = _read(data.text or "", kind, name)
    return found


def _read(text: str, kind: str | None, name: str) -> Any:
    try:
        match kind:
            case "boolean":
                return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]
            case "int" | "long":
                return int(text)
            case "float" | "double":
                return float(text)
    except (KeyError, ValueError):
        raise BadInput(f"{name} is {text!r:.40}, which is not a {kind}.") from None
    return _shown(text)


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]
