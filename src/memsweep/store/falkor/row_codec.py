"""The graph of a workspace as the rows of a workspace file, and back. Pure.

Both engines keep the same things under other names, so a backup of either can be restored into either.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from memsweep.store.stored import to_json

Row = dict[str, Any]
Rows = dict[str, list[Row]]

_FILE = ("language", "stamp", "digest", "read_at_ns", "lines", "functions", "classes", "encoding", "failure")
_FILE_PLACE = ("root", "path", "scope", "verified_at")
FLAGS = {"stale", "pinned", "handed_in", "explicit"}
# The properties of a node that are columns under the same name.
PLAIN: dict[str, tuple[str, ...]] = {
    "origin": ("door", "client", "client_version", "session", "tool", "tier"),
    "memory": ("text", "source", "metadata", "thread", "created_at", "updated_at", "last_seen_at", "expires_at",
               "stale", "pinned", "version", "trash", "origin", "released_at"),
    "chunk": ("memory", "position", "text", "start", "first_line", "last_line", "stream", "stream_position", "symbol",
              "symbol_kind", "words", "trash"),
    "entity": ("name", "name_key", "type", "type_key", "confidence", "current", "handed_in", "pinned", "created_at",
               "last_seen", "version", "trash", "origin"),
    "relation": ("relation", "relation_key", "weight", "current", "evidence", "handed_in", "created_at", "last_seen",
                 "valid_at", "invalid_at", "version", "trash", "origin", "released_at"),
    "contribution": ("relation", "act", "at", "rate", "value", "explicit", "valid_at", "origin", "memory", "before",
                     "after", "trash"),
    "memory_act": ("memory", "act", "at", "origin", "said", "receipt", "trash"),
    "plan": ("strategy", "created_at", "expires_at", "digest", "summary", "receipt"),
    "plan_item": ("plan", "position", "kind", "key", "version", "reason", "evidence"),
    "receipt": ("plan", "action", "strategy", "actor", "created_at", "counts", "skipped", "undone_at", "purged_at"),
    "revision": ("receipt", "kind", "item", "at", "before"),
    "audit": ("at", "actor", "action", "subject", "counts", "reason"),
    "alias": ("name_key", "type_key", "name", "entity", "receipt"),
    "merge_move": ("receipt", "kind", "a", "b", "c", "said"),
    "project": ("created_at", "tokens", "segments", "stashed", "changes", "full_from", "places", "turns", "counted_by",
                "config", "focus"),
    "segment": ("project", "place", "turn", "type", "created_at", "last_touched_at", "pinned", "generation",
                "gc_survival_count", "refcount", "file_path", "first_line", "last_line", "topic_id", "tokens", "role",
                "task_id", "version", "stash", "trash", "text", "origin"),
}  # fmt: skip
META = {"workspace": "name", "model": "model", "created_at": "created_at", "description": "description"}


_WITHOUT_ID = {"plan_item", "alias", "merge_move"}
_WITHOUT_UID = {"audit", "contribution", "memory_act", "origin", "revision"}
_LISTS = {"tags", "refs", "chunks"}


def comparable(row: Mapping[str, Any]) -> Row:
    """A row as it can be compared: lists however they were written, and the fifteen digits that the server tells."""
    values = {name: json.loads(value) if name in _LISTS else value for name, value in row.items()}
    return {name: round(value, 12) if isinstance(value, float) else value for name, value in values.items()}


def to_row(table: str, node: Mapping[str, Any]) -> Row:
    """A node as a row of its table; `key` and `id` are `id` and `uid` there."""
    row = {name: _column(name, node.get(name)) for name in PLAIN[table]}
    if table not in _WITHOUT_ID:
        row["id"] = node["key"]
        if table not in _WITHOUT_UID:
            row["uid"] = node.get("id")
    return row


def to_node(table: str, row: Mapping[str, Any]) -> Row:
    node = {name: _property(name, row[name]) for name in PLAIN[table]}
    if table not in _WITHOUT_ID:
        node["key"] = row["id"]
        if table not in _WITHOUT_UID:
            node["id"] = row["uid"]
    if table == "contribution":
        node["fact"] = str(row["relation"])  # as the index finds it
    if table == "memory_act":
        node["of"] = str(row["memory"])  # likewise
    return {name: value for name, value in node.items() if value is not None}


def memory_rows(node: Mapping[str, Any], roots: Mapping[str, int]) -> tuple[Row, list[Row], list[Row]]:
    """The row of a memory, of its tags, and of its file if it has one."""
    row = to_row("memory", node) | {
        "tags": to_json(node.get("tags")),
        "content_hash": _bytes(node.get("content_hash"), bytes.fromhex),
    }
    listed = node.get("tags")
    tags = [{"tag": tag, "memory": node["key"]} for tag in dict.fromkeys(listed if isinstance(listed, list) else ())]
    if "path" not in node:
        return row, tags, []
    file = {name: node.get(name) for name in (*_FILE, *_FILE_PLACE)}
    return row, tags, [{**file, "memory": node["key"], "root": roots[node["root"]]}]


def memory_node(row: Mapping[str, Any], file: Mapping[str, Any] | None, roots: Mapping[int, str]) -> Row:
    node = to_node("memory", row) | {"tags": json.loads(row["tags"]), "content_hash": row["content_hash"].hex()}
    if file is not None:
        known = {name: file[name] for name in (*_FILE, *_FILE_PLACE) if file[name] is not None}
        node |= {**known, "root": roots[file["root"]]}
    return node


def chunk_row(node: Mapping[str, Any]) -> Row:
    return to_row("chunk", node) | {"hash": _bytes(node.get("hash"), bytes.fromhex)}


def chunk_node(row: Mapping[str, Any], terms: str) -> Row:
    return to_node("chunk", row) | {"hash": row["hash"].hex(), "terms": terms}


def vector_row(node: Mapping[str, Any]) -> Row:
    return {"chunk": node["key"], "data": _bytes(node.get("data"), base64.b64decode)}


def vector_node(row: Mapping[str, Any]) -> Row:
    return {"key": row["chunk"], "data": base64.b64encode(row["data"]).decode()}


def segment_rows(node: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    """The row of a segment, and what it refers to."""
    row = to_row("segment", node) | {"tags": to_json(node.get("tags")), "refs": to_json(node.get("refs"))}
    refs = node.get("refs")
    targets = dict.fromkeys(refs if isinstance(refs, list) else ())
    return row, [{"project": node["project"], "target": target, "source": node["key"]} for target in targets]


def segment_node(row: Mapping[str, Any], message: int | None) -> Row:
    """`message` is the number of a message among those of its window."""
    node = to_node("segment", row) | {"tags": json.loads(row["tags"]), "refs": json.loads(row["refs"])}
    return node | segment_names(row["project"], row["uid"], row["place"], row["turn"], message)


def segment_names(project: int, uid: str, place: int, turn: int, message: int | None) -> Row:
    """What a segment is found by: the window with its id, its place, its turn."""
    names: dict[str, int | str | None]
    names = {"id_ref": uid, "place_ref": place, "turn_ref": turn, "message_ref": message}
    return {name: name_in(project, value) for name, value in names.items() if value is not None}


def name_in(project: int, what: int | str) -> str:
    """What an index finds; not the text itself, of which indexes do not see white space at the end, nor all if long."""
    return f"{project}:{what if isinstance(what, int) else blake2b(what.encode(), digest_size=16).hexdigest()}"


def segment_links(node: Mapping[str, Any]) -> list[Row]:
    """What finds a segment by what it refers to."""
    source = str(node["key"])
    return [{"target": name_in(node["project"], target), "source": source} for target in dict.fromkeys(node["refs"])]


def _bytes(value: Any, decode: Callable[[str], bytes]) -> Any:
    """What is damaged stays as it is, for the doctor to find."""
    try:
        return decode(value)
    except (ValueError, TypeError):
        return value


def _column(name: str, value: Any) -> Any:
    return int(value) if name in FLAGS and isinstance(value, bool) else value


def _property(name: str, value: Any) -> Any:
    return bool(value) if name in FLAGS and value is not None else value
