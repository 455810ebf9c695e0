"""The graph of a workspace as the rows of a workspace file, page by page, and a row as a node.

Both engines keep the same things under other names, so a backup of either can be restored into either.

Nodes come in the order of the server's own numbers, then the edges from them. While the revision stays, those numbers
stay, and what a page was read from is the same moment.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

from memsweep.model.columns import Column
from memsweep.store.falkor import care_cypher, cypher
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.words import told
from memsweep.store.things.every import TABLES

Row = dict[str, Any]
Rows = dict[str, list[Row]]

_OWN_FORM = {"meta", "thread", "code_scope", "code_file", "code_skip", "segment_link"}
SIMPLE = {it.label: it.table for it in TABLES.values() if it.label and not it.bins and it.table not in _OWN_FORM}
"""The tables whose rows are nodes with the same columns."""
_LISTS = {"tags", "refs", "chunks"}
META = {"workspace": "name", "model": "model", "created_at": "created_at", "description": "description"}


def comparable(row: Mapping[str, Any]) -> Row:
    """A row as it can be compared: lists however they were written, and the fifteen digits that the server tells."""
    values = {name: json.loads(value) if name in _LISTS else value for name, value in row.items()}
    return {name: round(value, 12) if isinstance(value, float) else value for name, value in values.items()}


@cache
def _columns(table: str) -> list[tuple[str, str, Column]]:
    """The columns of a table that are properties of its node, with both of their names."""
    it = TABLES[table]
    named = ((it.in_file(name), it.in_node(name), column) for name, column in it.columns.items() if not column.beside)
    return [each for each in named if each[0] != "rowid"]


def to_row(table: str, node: Mapping[str, Any]) -> Row:
    """A node as a row of its table."""
    row = {}
    for column, name, kept in _columns(table):
        value = node.get(name)
        row[column] = value if kept.as_row is None else kept.as_row(value)
    return row


def to_node(table: str, row: Mapping[str, Any]) -> Row:
    node = {}
    for column, name, kept in _columns(table):
        value = row[column]
        if value is not None:
            node[name] = value if kept.as_property is None else kept.as_property(value)
            if kept.found_by not in ("", "ref", name):
                node[kept.found_by] = str(node[name])  # as the index finds it
    it = TABLES[table]
    for name, column in it.named.items():
        node[name] = name_in(row["project"], row[it.in_file(column)])
    if table == "relation":
        node["told"] = told(row["relation_key"])
    return {name: value for name, value in node.items() if value is not None}


def memory_rows(node: Mapping[str, Any], roots: Mapping[str, int]) -> tuple[Row, list[Row], list[Row]]:
    """The row of a memory, of its tags, and of its file if it has one."""
    listed = node.get("tags")
    tags = [{"tag": tag, "memory": node["key"]} for tag in dict.fromkeys(listed if isinstance(listed, list) else ())]
    file = to_row("code_file", {**node, "root": roots[node["root"]]}) if "path" in node else None
    return to_row("memory", node), tags, [] if file is None else [file]


def memory_node(row: Mapping[str, Any], file: Mapping[str, Any] | None, roots: Mapping[int, str]) -> Row:
    node = to_node("memory", row)
    if file is None:
        return node
    return {**to_node("code_file", file), **node, "root": roots[file["root"]]}


def segment_rows(node: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    """The row of a segment, and what it refers to."""
    refs = node.get("refs")
    targets = dict.fromkeys(refs if isinstance(refs, list) else ())
    links = [{"project": node["project"], "target": target, "source": node["key"]} for target in targets]
    return to_row("segment", node), links


def name_in(project: int, what: int | str) -> str:
    """Return the form that an index finds; of the text itself indexes miss white space at the end and long ones."""
    return f"{project}:{what if isinstance(what, int) else blake2b(what.encode(), digest_size=16).hexdigest()}"


_PAGE = 1000
TableRow = tuple[str, Row]


class RootNumbers(dict[str, int]):
    """The numbers of the folders of code; a folder that is not known gets a number that nothing has."""

    def __missing__(self, path: str) -> int:
        self[path] = number = min(0, *self.values(), 0) - 1
        return number


class Extent(NamedTuple):
    """The size of a graph to read: places for nodes and as many for edges, and the rows that are there."""

    places: int
    rows: int

    @property
    def end(self) -> int:
        return 2 * self.places


class GraphPage(NamedTuple):
    rows: list[TableRow]
    next_place: int
    revision: int


def extent(asked: GraphHandle | Transaction) -> Extent:
    queries = [care_cypher.COUNT_NODES, care_cypher.COUNT_STAGED, care_cypher.COUNT_LINKS]
    queries += [care_cypher.of(care_cypher.COUNT_EDGES, kind=kind) for kind in _EDGES]
    ((nodes, highest),), ((staged,),), ((links,),), *edges = asked.ask_all(*((query, {}) for query in queries))
    workspace = 1  # it stands for rows that nobody counts
    return Extent(highest + 1, nodes - workspace - staged - links + sum(rows[0][0] for rows in edges))


class GraphReader:
    """Pages of one graph."""

    def __init__(self, asked: GraphHandle | Transaction, roots: RootNumbers | None = None) -> None:
        self._asked = asked
        self._roots = RootNumbers() if roots is None else roots
        self._roots |= {root["path"]: root["key"] for (root,) in asked.ask(care_cypher.CODE_ROOTS)}

    def page(self, extent: Extent, place: int) -> GraphPage:
        """Return the rows at a place and the next thousand."""
        if place < extent.places:
            return self._nodes(place, min(place + _PAGE, extent.places))
        return self._edges(place, extent.places, min(place + _PAGE, extent.end))

    def _nodes(self, first: int, beyond: int) -> GraphPage:
        found, revision = self._asked.ask_all(
            (care_cypher.NODES_BETWEEN, {"first": first, "beyond": beyond}), (cypher.REVISION, {})
        )
        rows = [row for label, node in found for row in _rows_of(label, node, self._roots)]
        return GraphPage(rows, beyond, revision[0][0])

    def _edges(self, place: int, places: int, beyond: int) -> GraphPage:
        between = {"first": place - places, "beyond": beyond - places}
        *found, revision = self._asked.ask_all(
            *((care_cypher.EDGES_BETWEEN[kind], between) for kind in _EDGES), (cypher.REVISION, {})
        )
        rows = [_EDGES[kind](row) for kind, edges in zip(_EDGES, found, strict=True) for row in edges]
        if beyond == 2 * places:  # they are undone in the order in which they stand
            moves = self._asked.ask(care_cypher.MERGE_MOVES)
            rows += [("merge_move", to_row("merge_move", node)) for (node,) in moves]
        return GraphPage(rows, beyond, revision[0][0])


def pages(asked: GraphHandle | Transaction, roots: RootNumbers | None = None) -> Iterator[list[TableRow]]:
    """All of them; the caller sees to it that nobody writes. `roots` get their numbers."""
    reader, whole, place = GraphReader(asked, roots), extent(asked), 0
    while place < whole.end:
        page = reader.page(whole, place)
        yield page.rows
        place = page.next_place


def dump(asked: GraphHandle | Transaction, roots: RootNumbers | None = None) -> Rows:
    """Everything in the graph, by table."""
    rows: Rows = defaultdict(list)
    for page in pages(asked, roots):
        for table, row in page:
            rows[table].append(row)
    return rows


def _rows_of(label: str, node: Row, roots: Mapping[str, int]) -> list[TableRow]:
    """The rows that a node stands for; what it has in the trash has the same form."""
    node.pop("ref", None)
    match label.removeprefix("Trashed"):
        case "Workspace":
            return [("meta", row) for row in _meta_rows(node)]
        case "Memory":
            memory, tags, file = memory_rows(node, roots)
            return [("memory", memory), *(("memory_tag", tag) for tag in tags), *(("code_file", row) for row in file)]
        case "Segment":
            segment, links = segment_rows(node)
            return [("segment", segment), *(("segment_link", link) for link in links)]
        case "Thread":
            return [("thread", {"id": node["key"], "uid": node["id"]})]
        case "CodeScope":
            return [("code_scope", {"id": node.pop("key"), **node, "root": roots[node["root"]]})]
        case "CodeSkip":
            return [("code_skip", {**node, "root": roots[node["root"]]})]
        case "MergeMove":
            return []  # come last
        case "Chunk" | "Entity":
            return [(label.removeprefix("Trashed").lower(), to_row(label.removeprefix("Trashed").lower(), node))]
        case name if name in SIMPLE:
            return [(SIMPLE[name], to_row(SIMPLE[name], node))]
    return []  # vectors of a model that is not in use yet, and what finds a segment


def _meta_rows(meta: Mapping[str, Any]) -> list[Row]:
    return [{"key": key, "value": meta[name]} for key, name in META.items() if meta.get(name) is not None]


def _relation(found: list[Any]) -> TableRow:
    props, subject, target = found
    return "relation", to_row("relation", props) | {"subject": subject, "object": target}


def _mention(found: list[Any]) -> TableRow:
    return "mention", dict(zip(("chunk", "entity", "trash", "origin"), found, strict=True))


def _statement(found: list[Any]) -> TableRow:
    return "relation_source", dict(zip(("relation", "memory"), found, strict=True))


def _supersession(found: list[Any]) -> TableRow:
    return "supersession", dict(zip(("old", "new", "at", "origins"), found, strict=True))


_EDGES = {
    "RELATED_TO": _relation,
    "WAS_RELATED_TO": _relation,
    "MENTIONS": _mention,
    "STATES": _statement,
    "SUPERSEDES": _supersession,
}
