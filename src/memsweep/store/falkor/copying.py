"""A whole graph into rows, and rows into a new graph."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memsweep.store.falkor import care_cypher, cypher, forming, rowing
from memsweep.store.falkor.care_cypher import of
from memsweep.store.falkor.rowing import Row, Rows
from memsweep.store.falkor.transaction import Change, Graph
from memsweep.store.falkor.vectors import VectorSet

_BATCH = 500
Progress = Callable[[int], None]


class Roots(dict[str, int]):
    """The numbers of the folders of code; a folder that is not known gets a number that nothing has."""

    def __missing__(self, path: str) -> int:
        self[path] = number = min(0, *self.values(), 0) - 1
        return number


class _Paths(dict[int, str]):
    def __missing__(self, number: int) -> str:
        return f"/lost folder {number}"


def dump(asked: Graph | Change, roots: Roots | None = None) -> Rows:
    """Everything in the graph; the caller sees to it that it is of one moment. `roots` get their numbers."""
    roots = Roots() if roots is None else roots
    rows: Rows = defaultdict(list)
    rows["meta"] = _meta_rows(asked.ask(cypher.META)[0][0])
    for thread in _nodes(asked, "Thread"):
        rows["thread"].append({"id": thread["key"], "uid": thread["id"]})
    roots |= {root["path"]: root["key"] for root in _nodes(asked, "CodeRoot")}
    _dump_code(asked, rows, roots)
    for memory in _either(asked, "Memory"):
        row, tags, file = rowing.memory_rows(memory, roots)
        rows["memory"].append(row)
        rows["memory_tag"] += tags
        rows["code_file"] += file
    rows["chunk"] = [rowing.chunk_row(node) for node in _either(asked, "Chunk")]
    rows["vector"] = [rowing.vector_row(node) for node in _nodes(asked, "Embedding")]
    rows["entity"] = [rowing.to_row("entity", node) for node in _either(asked, "Entity")]
    for kind in ("RELATED_TO", "WAS_RELATED_TO"):
        for props, subject, target in asked.ask(of(care_cypher.RELATIONS, kind=kind)):
            rows["relation"].append(rowing.to_row("relation", props) | {"subject": subject, "object": target})
    rows["mention"] = [_named(("chunk", "entity", "trash"), row) for row in asked.ask(care_cypher.MENTIONS)]
    rows["relation_source"] = [_named(("relation", "memory"), row) for row in asked.ask(care_cypher.STATEMENTS)]
    for label, table in forming.SIMPLE.items():
        nodes = sorted(_nodes(asked, label), key=lambda node: node.get("place", 0))
        rows[table] = [rowing.to_row(table, node) for node in nodes]
    for tomb in _nodes(asked, "Tombstone"):
        rows["tombstone"].append({**tomb, "hash": bytes.fromhex(tomb["hash"])})
    for seen in _nodes(asked, "NameSeen"):
        rows["name_seen"].append({**seen, "chunks": json.dumps(seen["chunks"])})
    for node in _either(asked, "Segment"):
        row, links = rowing.segment_rows(node)
        rows["segment"].append(row)
        rows["segment_link"] += links
    return rows


def _dump_code(asked: Graph | Change, rows: Rows, roots: Mapping[str, int]) -> None:
    for root in _nodes(asked, "CodeRoot"):
        rows["code_root"].append({"id": root["key"], "path": root["path"], "total_files": root["total_files"]})
    for scope in _nodes(asked, "CodeScope"):
        del scope["ref"]
        named = {"id": scope.pop("key"), "root": roots[scope.pop("root")]}
        rows["code_scope"].append({**scope, **named})
    for skip in _nodes(asked, "CodeSkip"):
        rows["code_skip"].append({**skip, "root": roots[skip["root"]]})


def load(graph: Graph, rows: Mapping[str, Sequence[Row]], progress: Progress = lambda done: None) -> None:
    """Fill a new graph that nobody knows yet."""
    loader = _Loader(graph, progress)
    loader.nodes(rows)
    loader.edges(rows)
    highest = max((row["id"] for table in rows.values() for row in table if "id" in row), default=0)
    meta = {rowing.META[row["key"]]: row["value"] for row in rows["meta"] if row["key"] in rowing.META}
    wanted = {name: value for name, value in meta.items() if name == "model"}
    graph.link.change(graph.name, care_cypher.PUT_META, meta={**wanted, "keys": highest})
    VectorSet(graph).catch_up(0)


class _Loader:
    """Writes batch by batch."""

    def __init__(self, graph: Graph, progress: Progress) -> None:
        self._graph, self._progress = graph, progress
        self._done = 0

    def nodes(self, rows: Mapping[str, Sequence[Row]]) -> None:
        roots = _Paths({root["id"]: root["path"] for root in rows["code_root"]})
        for label, made in forming.nodes(rows, roots).items():
            self._send(of(care_cypher.ADD_NODE, label=label), made)

    def edges(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """One query for each kind and pair of labels."""
        groups: dict[str, list[Row]] = defaultdict(list)
        for edge in forming.edges(rows):
            groups[added(edge)].append(edge.row)
        for step, group in groups.items():
            self._send(step, group)

    def _send(self, step: str, rows: Sequence[Row]) -> None:
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            self._graph.link.change(self._graph.name, care_cypher.in_bulk(step), rows=batch)
            self._done += len(batch)
            self._progress(self._done)


def added(edge: forming.Edge) -> str:
    """The step that makes such an edge."""
    return of(care_cypher.ADD_EDGE[edge.kind], begin=edge.labels[0], end=edge.labels[1])


def _meta_rows(meta: Mapping[str, Any]) -> list[Row]:
    return [{"key": key, "value": meta[name]} for key, name in rowing.META.items() if meta.get(name) is not None]


def _nodes(asked: Graph | Change, label: str) -> list[Row]:
    return [dict(node) for (node,) in asked.ask(of(care_cypher.NODES, label=label))]


def _either(asked: Graph | Change, label: str) -> list[Row]:
    return [*_nodes(asked, label), *_nodes(asked, f"Trashed{label}")]


def _named(names: Sequence[str], row: Sequence[Any]) -> Row:
    return dict(zip(names, row, strict=True))
