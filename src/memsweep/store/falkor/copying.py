"""A whole graph into rows, and rows into a new graph."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memsweep.store.falkor import care_cypher, rowing
from memsweep.store.falkor.care_cypher import of
from memsweep.store.falkor.rowing import Row, Rows
from memsweep.store.falkor.transaction import Change, Graph
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.words import terms_of

_BATCH = 500
_SIMPLE = {"Plan": "plan", "PlanItem": "plan_item", "Receipt": "receipt", "AuditEvent": "audit", "Project": "project",
           "Alias": "alias", "MergeMove": "merge_move"}  # fmt: skip
Progress = Callable[[int], None]


def dump(asked: Graph | Change) -> Rows:
    """Everything in the graph; the caller sees to it that it is of one moment."""
    rows: Rows = defaultdict(list)
    rows["meta"] = _meta_rows(_nodes(asked, "Workspace")[0])
    for thread in _nodes(asked, "Thread"):
        rows["thread"].append({"id": thread["key"], "uid": thread["id"]})
    roots = {root["path"]: root["key"] for root in _nodes(asked, "CodeRoot")}
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
    for label, table in _SIMPLE.items():
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
    loader = _Loader(graph, rows, progress)
    loader.nodes()
    loader.edges()
    highest = max((row["id"] for table in rows.values() for row in table if "id" in row), default=0)
    meta = {rowing.META[row["key"]]: row["value"] for row in rows["meta"] if row["key"] in rowing.META}
    wanted = {name: value for name, value in meta.items() if name == "model"}
    graph.link.change(graph.name, care_cypher.PUT_META, meta={**wanted, "keys": highest})
    VectorSet(graph).catch_up(0)


class _Loader:
    """Writes batch by batch; labels follow from what is in the trash."""

    def __init__(self, graph: Graph, rows: Mapping[str, Sequence[Row]], progress: Progress) -> None:
        self._graph, self._rows, self._progress = graph, rows, progress
        self._done = 0
        self._roots = {root["id"]: root["path"] for root in rows["code_root"]}
        self._trashed = {
            table: {row["id"] for row in rows[table] if row["trash"] is not None}
            for table in ("memory", "chunk", "entity", "segment")
        }

    def nodes(self) -> None:
        rows = self._rows
        last: dict[int, int] = defaultdict(lambda: -1)
        for chunk in rows["chunk"]:
            if chunk["stream"] is not None:
                last[chunk["stream"]] = max(last[chunk["stream"]], chunk["stream_position"])
        self._add("Thread", [{"key": t["id"], "id": t["uid"], "last": last[t["id"]]} for t in rows["thread"]])
        files = {file["memory"]: file for file in rows["code_file"]}
        memories = [rowing.memory_node(row, files.get(row["id"]), self._roots) for row in rows["memory"]]
        self._add_either("Memory", memories)
        chunks = [rowing.chunk_node(row, terms_of(row["text"], row["words"])) for row in rows["chunk"]]
        self._add_either("Chunk", chunks)
        self._add("Embedding", map(rowing.vector_node, sorted(rows["vector"], key=lambda row: row["chunk"])))
        self._add_either("Entity", [rowing.to_node("entity", row) for row in rows["entity"]])
        self._code()
        for label, table in _SIMPLE.items():
            self._add(label, [_placed(table, n, rowing.to_node(table, row)) for n, row in enumerate(rows[table])])
        self._add("Tombstone", [{**row, "hash": row["hash"].hex()} for row in rows["tombstone"]])
        self._add("NameSeen", [{**row, "chunks": json.loads(row["chunks"])} for row in rows["name_seen"]])
        self._add_either("Segment", [rowing.segment_node(row) for row in rows["segment"]])

    def _code(self) -> None:
        rows, roots = self._rows, self._roots
        self._add(
            "CodeRoot",
            [{"key": r["id"], "path": r["path"], "total_files": r["total_files"]} for r in rows["code_root"]],
        )
        scopes = [{**row, "key": row["id"], "root": roots[row["root"]]} for row in rows["code_scope"]]
        self._add("CodeScope", [{name: scope[name] for name in scope if name != "id"} for scope in scopes])
        self._add("CodeSkip", [{**row, "root": roots[row["root"]]} for row in rows["code_skip"]])

    def edges(self) -> None:
        owned = {"memory": ("memory", "Memory"), "chunk": ("id", "Chunk")}
        self._join(care_cypher.ADD_HAS_CHUNK, self._rows["chunk"], owned, _owned)
        ends = {"subject": ("subject", "Entity"), "object": ("object", "Entity")}
        for kind, is_live in (("RELATED_TO", True), ("WAS_RELATED_TO", False)):
            rows = [row for row in self._rows["relation"] if (row["trash"] is None) == is_live]
            self._join(care_cypher.ADD_RELATION, rows, ends, _relation, kind=kind)
        mention = {"chunk": ("chunk", "Chunk"), "entity": ("entity", "Entity")}
        self._join(care_cypher.ADD_MENTION, self._rows["mention"], mention, dict)
        subjects = {row["id"]: row["subject"] for row in self._rows["relation"]}
        sources = [{**row, "subject": subjects[row["relation"]]} for row in self._rows["relation_source"]]
        stated = {"memory": ("memory", "Memory"), "entity": ("subject", "Entity")}
        self._join(care_cypher.ADD_STATEMENT, sources, stated, dict)

    def _join(
        self,
        query: str,
        rows: Iterable[Row],
        ends: Mapping[str, tuple[str, str]],
        form: Callable[[Row], Row],
        **names: str,
    ) -> None:
        """Edges, one query for each pair of labels."""
        groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in rows:
            labels = tuple(self._label(label, row[column]) for column, label in ends.values())
            groups[labels].append(form(row))
        for labels, group in groups.items():
            self._send(of(query, **dict(zip(ends, labels, strict=True)), **names), group)

    def _label(self, label: str, key: int) -> str:
        return f"Trashed{label}" if key in self._trashed[label.lower()] else label

    def _add_either(self, label: str, nodes: Sequence[Row]) -> None:
        self._add(label, [node for node in nodes if "trash" not in node])
        self._add(f"Trashed{label}", [node for node in nodes if "trash" in node])

    def _add(self, label: str, nodes: Iterable[Row]) -> None:
        self._send(of(care_cypher.ADD_NODE, label=label), list(nodes))

    def _send(self, query: str, rows: Sequence[Row]) -> None:
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            self._graph.link.change(self._graph.name, query, rows=batch)
            self._done += len(batch)
            self._progress(self._done)


def _owned(row: Row) -> Row:
    return {"memory": row["memory"], "key": row["id"], "position": row["position"]}


def _placed(table: str, place: int, node: Row) -> Row:
    """Moves are undone in the order in which they stand."""
    return {**node, "place": place} if table == "merge_move" else node


def _relation(row: Row) -> Row:
    return {"subject": row["subject"], "object": row["object"], "set": rowing.to_node("relation", row)}


def _meta_rows(meta: Mapping[str, Any]) -> list[Row]:
    return [{"key": key, "value": meta[name]} for key, name in rowing.META.items() if meta.get(name) is not None]


def _nodes(asked: Graph | Change, label: str) -> list[Row]:
    return [dict(node) for (node,) in asked.ask(of(care_cypher.NODES, label=label))]


def _either(asked: Graph | Change, label: str) -> list[Row]:
    return [*_nodes(asked, label), *_nodes(asked, f"Trashed{label}")]


def _named(names: Sequence[str], row: Sequence[Any]) -> Row:
    return dict(zip(names, row, strict=True))
