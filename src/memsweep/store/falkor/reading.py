"""A whole graph as rows, page by page: nodes in the order of the server's own numbers, then the edges from them.

While the revision stays, those numbers stay, and what a page was read from is the same moment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from memsweep.store.falkor import care_cypher, cypher, row_codec
from memsweep.store.falkor.row_codec import SIMPLE, Row, Rows
from memsweep.store.falkor.transaction import GraphHandle, Transaction

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
            rows += [("merge_move", row_codec.to_row("merge_move", node)) for (node,) in moves]
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
            memory, tags, file = row_codec.memory_rows(node, roots)
            return [("memory", memory), *(("memory_tag", tag) for tag in tags), *(("code_file", row) for row in file)]
        case "Segment":
            segment, links = row_codec.segment_rows(node)
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
            return [
                (label.removeprefix("Trashed").lower(), row_codec.to_row(label.removeprefix("Trashed").lower(), node))
            ]
        case name if name in SIMPLE:
            return [(SIMPLE[name], row_codec.to_row(SIMPLE[name], node))]
    return []  # vectors of a model that is not in use yet, and what finds a segment


def _meta_rows(meta: Mapping[str, Any]) -> list[Row]:
    return [{"key": key, "value": meta[name]} for key, name in row_codec.META.items() if meta.get(name) is not None]


def _relation(found: list[Any]) -> TableRow:
    props, subject, target = found
    return "relation", row_codec.to_row("relation", props) | {"subject": subject, "object": target}


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
