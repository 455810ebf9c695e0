"""The rows of a workspace file as nodes and edges. Pure.

Rows of a damaged file may lead nowhere; an edge needs both of its ends, and is left out without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from memsweep.store.falkor import row_codec
from memsweep.store.falkor.row_codec import Row
from memsweep.store.falkor.words import sought_by, terms_of
from memsweep.store.things.every import TABLES

Table = Mapping[str, Sequence[Row]]
_OWN_FORM = {"meta", "thread", "code_scope", "code_file", "code_skip", "segment_link"}
SIMPLE = {it.label: it.table for it in TABLES.values() if it.label and not it.bins and it.table not in _OWN_FORM}
"""The tables whose rows are nodes with the same columns."""


class NewEdge(NamedTuple):
    """An edge of a kind between nodes of these labels; `row` names them, and says what it has."""

    kind: str
    labels: tuple[str, str]
    row: Row


def nodes(rows: Table, roots: Mapping[int, str]) -> dict[str, list[Row]]:
    """By label; what is in the trash has one of its own. `roots` are the folders of code by their number."""
    made: dict[str, list[Row]] = defaultdict(list)
    last = _last_places(rows["chunk"])
    made["Thread"] = [{"key": t["id"], "id": t["uid"], "last": last[t["id"]]} for t in rows["thread"]]
    files = {file["memory"]: file for file in rows["code_file"]}
    _either(made, "Memory", [row_codec.memory_node(row, files.get(row["id"]), roots) for row in rows["memory"]])
    _either(
        made,
        "Chunk",
        [row_codec.chunk_node(row) | sought_by(terms_of(row["text"], row["words"])) for row in rows["chunk"]],
    )
    for label, table in (("Entity", "entity"), ("Segment", "segment")):
        _either(made, label, [row_codec.to_node(table, row) for row in rows[table]])
    for label, table in (*SIMPLE.items(), ("SegmentLink", "segment_link")):
        made[label] = [row_codec.to_node(table, row) for row in rows[table]]
    _code(made, rows, roots)
    for place, move in enumerate(made["MergeMove"]):  # they are undone in the order in which they stand
        move["place"] = place
    return made


def _last_places(chunks: Sequence[Row]) -> dict[int, int]:
    last: dict[int, int] = defaultdict(lambda: -1)
    for chunk in chunks:
        if chunk["stream"] is not None:
            last[chunk["stream"]] = max(last[chunk["stream"]], chunk["stream_position"])
    return last


def _code(made: dict[str, list[Row]], rows: Table, roots: Mapping[int, str]) -> None:
    for root in made["CodeRoot"]:
        root["path"] = roots[root["key"]]
    for scope in rows["code_scope"]:
        named = {"key": scope["id"], "root": roots[scope["root"]]}
        made["CodeScope"].append({**{name: scope[name] for name in scope if name != "id"}, **named})
    made["CodeSkip"] = [{**row, "root": roots[row["root"]]} for row in rows["code_skip"]]


def _either(made: dict[str, list[Row]], label: str, listed: Sequence[Row]) -> None:
    made[label] = [node for node in listed if "trash" not in node]
    made[f"Trashed{label}"] = [node for node in listed if "trash" in node]


def edges(rows: Table) -> Iterator[NewEdge]:
    label = {
        (table, row["id"]): name if row["trash"] is None else f"Trashed{name}"
        for table, name in (("memory", "Memory"), ("chunk", "Chunk"), ("entity", "Entity"))
        for row in rows[table]
    }

    def joined(kind: str, begin: tuple[str, int], end: tuple[str, int], row: Row) -> Iterator[NewEdge]:
        if begin in label and end in label:
            yield NewEdge(kind, (label[begin], label[end]), row)

    for row in rows["chunk"]:
        owned = {"memory": row["memory"], "key": row["id"], "position": row["position"]}
        yield from joined("HAS_CHUNK", ("memory", row["memory"]), ("chunk", row["id"]), owned)
    for row in rows["relation"]:
        kind = "RELATED_TO" if row["trash"] is None else "WAS_RELATED_TO"
        said = {"subject": row["subject"], "object": row["object"], "set": row_codec.to_node("relation", row)}
        yield from joined(kind, ("entity", row["subject"]), ("entity", row["object"]), said)
    for row in rows["mention"]:
        said = {"chunk": row["chunk"], "entity": row["entity"], "origin": row["origin"]}
        yield from joined("MENTIONS", ("chunk", row["chunk"]), ("entity", row["entity"]), said)
    subjects = {row["id"]: row["subject"] for row in rows["relation"]}
    for row in rows["relation_source"]:
        subject = subjects.get(row["relation"], 0)
        said = {"relation": row["relation"], "memory": row["memory"], "subject": subject}
        yield from joined("STATES", ("memory", row["memory"]), ("entity", subject), said)
    for row in rows["supersession"]:
        yield from joined("SUPERSEDES", ("memory", row["new"]), ("memory", row["old"]), row)
