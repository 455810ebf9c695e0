"""The graph of a workspace as the rows of a workspace file, and back. Pure.

Both engines keep the same things under other names, so a backup of either can be restored into either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from typing import Any

from memsweep.model.columns import Column
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
