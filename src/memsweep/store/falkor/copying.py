"""The rows of a workspace file into a graph that nobody knows yet, batch by batch, and compared afterwards.

The batches of a file are always the same, and the revision of an unfinished graph counts them. So a copy that was
interrupted goes on behind the last batch that arrived, and no batch can arrive twice.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import NamedTuple

import apsw

from memsweep.errors import StoreCorrupt, StoreError
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.falkor import care_cypher, cypher, reading
from memsweep.store.falkor.care_cypher import of
from memsweep.store.falkor.reading import Row
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.words import sought_by, terms_of
from memsweep.store.file import portable, rows_sql
from memsweep.store.things.memories import CHUNK, MEMORY

_BATCH = 500
_EITHER = ((True, ""), (False, "Trashed"))
_STATED = 128


class CopyStep(NamedTuple):
    """Rows of a file that become nodes, or edges of a kind between nodes, with labels that may depend on the row."""

    rows: Iterator[Row]
    form: Callable[[Row], Row]
    labels: Callable[[Row], tuple[str, ...]]
    kind: str = ""

    def query(self, row: Row) -> str:
        return added(self.kind, self.labels(row))


def added(kind: str, labels: Sequence[str]) -> str:
    """Return the step that makes a node with a label, or an edge of a kind between nodes with two."""
    if not kind:
        return of(care_cypher.ADD_NODE, label=labels[0])
    return of(care_cypher.ADD_EDGE[kind], begin=labels[0], end=labels[1])


def layout() -> str:
    """Return the way in which rows become batches; a copy that was begun in another one cannot be continued."""
    return f"1.{_BATCH}"


def load(graph: GraphHandle, db: apsw.Connection, progress: CopyProgress) -> bool:
    """Fill a graph from a file, or go on where an earlier attempt stopped; False if that had compared it too."""
    begun, batches = graph.meta()["revision"], 0
    vectors = VectorSet(graph)
    progress.enter(-2, portable.count(db))
    for step, query, rows in _batches(db):
        if batches >= begun:
            _send(graph, batches, query, [step.form(row) for row in rows])
            if query == added("", ["Embedding"]):
                vectors.catch_up(0)
        batches += 1
        progress.did(len(rows) if query not in _DERIVED else 0)
    if begun > batches:
        return False
    vectors.catch_up(0)
    said = portable.workspace_of(db)
    model = {"model": said["model"]} if "model" in said else {}
    graph.link.change(graph.name, care_cypher.PUT_META, meta={**model, "keys": portable.highest_key(db)})
    return True


def _send(graph: GraphHandle, number: int, step: str, rows: list[Row]) -> None:
    query = cypher.all_at_once((cypher.spelled(step, rows),))
    sent = graph.link.change(graph.name, query, rows0=rows, revision=number, meta={})
    if not sent and graph.meta()["revision"] <= number:
        raise StoreError(f"the unfinished copy {graph.name} is not as it was left.", hint="Try again.")


def _batches(db: apsw.Connection) -> Iterator[tuple[CopyStep, str, list[Row]]]:
    for step in _steps(db):
        for query, rows in groupby(step.rows, step.query):
            while batch := list(islice(rows, _BATCH)):
                yield step, query, batch


def parts(db: apsw.Connection, roots: Mapping[int, str]) -> Iterator[tuple[str, tuple[str, ...], Row]]:
    """Return the nodes and edges of a file: kind, labels, and what one has. `roots` are paths of folders of code."""
    for step in _steps(db, roots):
        for row in step.rows:
            yield step.kind, step.labels(row), step.form(row)


def _steps(db: apsw.Connection, known_roots: Mapping[int, str] | None = None) -> Iterator[CopyStep]:
    roots = _Paths((root["id"], root["path"]) for root in portable.stream(db, rows_sql.select("code_root")))
    roots.update(known_roots or {})

    def nodes(label: str, statement: str, form: Callable[[Row], Row]) -> CopyStep:
        return CopyStep(portable.stream(db, statement), form, lambda row: (label,))

    def in_root(row: Row) -> Row:
        return {**row, "root": roots[row["root"]]}

    def root(row: Row) -> Row:
        return {**reading.to_node("code_root", row), "path": roots[row["id"]]}

    yield nodes("Thread", rows_sql.THREADS, dict)
    for live, prefix in _EITHER:
        found = rows_sql.of_state(rows_sql.MEMORIES, live=live)
        yield nodes(f"{prefix}Memory", found, lambda row: reading.memory_node(row, _file(row), roots))
        yield nodes(f"{prefix}Chunk", rows_sql.trashable("chunk", live=live), _chunk)
        yield nodes(f"{prefix}Entity", rows_sql.trashable("entity", live=live), _plain("entity"))
        yield nodes(f"{prefix}Segment", rows_sql.trashable("segment", live=live), _plain("segment"))
    yield nodes("SegmentLink", rows_sql.select("segment_link"), _plain("segment_link"))
    yield nodes("Project", rows_sql.select("project"), _plain("project"))
    yield nodes("MergeMove", rows_sql.MERGE_MOVES, _move)
    yield nodes("Embedding", rows_sql.VECTORS, _plain("vector"))
    yield nodes("CodeScope", rows_sql.select("code_scope"), lambda row: _keyed(in_root(row)))
    yield nodes("CodeSkip", rows_sql.select("code_skip"), in_root)
    for label, table in reading.SIMPLE.items():
        if label not in _SPECIAL:
            yield nodes(label, rows_sql.select(table), root if table == "code_root" else _plain(table))
    yield from _edges(db)


def _edges(db: apsw.Connection) -> Iterator[CopyStep]:
    def edges(kind: str, statement: str, ends: tuple[str, str], form: Callable[[Row], Row] | None = None) -> CopyStep:
        rows = portable.stream(db, statement)
        return CopyStep(rows, form or _joined, lambda row: tuple(_label(end, row) for end in ends), kind)

    yield edges("HAS_CHUNK", rows_sql.OWNED, ("memory", "chunk"))
    for live, kind in ((True, "RELATED_TO"), (False, "WAS_RELATED_TO")):
        yield edges(kind, rows_sql.of_state(rows_sql.RELATIONS, live=live), ("subject", "object"), _relation)
    yield edges("MENTIONS", rows_sql.MENTIONS, ("chunk", "entity"))
    yield edges("STATES", rows_sql.STATEMENTS, ("memory", "entity"))
    yield edges("SUPERSEDES", rows_sql.SUPERSESSIONS, ("new", "old"))


_ENDS = {
    "memory": "Memory",
    "new": "Memory",
    "old": "Memory",
    "chunk": "Chunk",
    "entity": "Entity",
    "subject": "Entity",
    "object": "Entity",
}
_SPECIAL = {"Project", "MergeMove", "Embedding"}
_DERIVED = {added("", ["SegmentLink"])} | {  # what other rows speak of: no rows that are counted
    added("HAS_CHUNK", (memory, chunk)) for memory in MEMORY.labels("any") for chunk in CHUNK.labels("any")
}


class _Paths(dict[int, str]):
    def __missing__(self, number: int) -> str:
        return f"/lost folder {number}"


def _label(end: str, row: Row) -> str:
    """The label of an edge's end: what is in the trash has another."""
    return f"Trashed{_ENDS[end]}" if row[f"trashed_{end}"] else _ENDS[end]


def _move(row: Row) -> Row:
    return reading.to_node("merge_move", row) | {"place": row["standing"]}


def _file(row: Row) -> Row | None:
    return row if row["memory"] is not None else None


def _plain(table: str) -> Callable[[Row], Row]:
    return lambda row: reading.to_node(table, row)


def _keyed(row: Row) -> Row:
    return {"key" if name == "id" else name: value for name, value in row.items()}


def _joined(row: Row) -> Row:
    """An edge as it is: where its ends are is no part of it."""
    return {name: value for name, value in row.items() if not name.startswith("trashed_")}


def _chunk(row: Row) -> Row:
    return reading.to_node("chunk", row) | sought_by(terms_of(row["text"], row["words"]))


def _relation(row: Row) -> Row:
    return {"subject": row["subject"], "object": row["object"], "set": reading.to_node("relation", row)}


def verify(graph: GraphHandle, db: apsw.Connection, named: str, progress: CopyProgress) -> None:
    """Read back what was written and compare it, table by table."""
    progress.enter(-1, portable.count(db))
    there = _Sums()
    for page in reading.pages(graph):
        there.add(page)
        progress.did(sum(table not in portable.DERIVED for table, _ in page))
    here = _Sums()
    for table, rows in portable.tables(db):
        here.add((table, row) for row in rows)
    for table in rows_sql.TABLES:
        if table != "meta" and here.of(table) != there.of(table):
            raise StoreCorrupt(
                f"{table} of {named} did not arrive as it was sent; nothing was changed.", hint="Try again."
            )


class _Sums:
    """For each table a number that is the same for the same rows in any order."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        for table, row in rows:
            said = repr(sorted(reading.comparable(row).items())).encode()
            number = int.from_bytes(hashlib.blake2b(said, digest_size=_STATED // 8).digest())
            count, total = self._sums[table]
            self._sums[table] = count + 1, (total + number) % (1 << _STATED)

    def of(self, table: str) -> tuple[int, int]:
        return self._sums[table]
