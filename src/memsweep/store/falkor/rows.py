"""Rows of declared things in a graph: reads at the revision that was seen, writes gathered for one query.

Names come from declarations alone; every value is a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from memsweep.model.columns import Bin, Declaration, declared, decoder, encoded, encoders
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.falkor.wire import Query
from memsweep.store.falkor.words import told
from memsweep.store.rows import Find, Read, Shape, Totals, Values, Where, shape_of

R = TypeVar("R")


class FalkorRows:
    """Implements `memsweep.store.rows.Rows`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        self._asked = asked

    def ask(self, *reads: Read) -> list[list[Any]]:
        queries = [queries_of(each) for each in reads]
        wanted = [query for each in queries for query in each]
        answers = iter(self._asked.ask_all(*wanted) if wanted else ())
        found = []
        for read, asked in zip(reads, queries, strict=True):
            rows = [row for _ in asked for row in next(answers)]
            found.append(
                _in_order(read, len(asked), [*map(decoder(read.row, "node"), rows)]) if isinstance(read, Find) else rows
            )
        return found

    def find(self, row: type[R], *where: Where, bin: Bin = "live") -> list[R]:
        return self.ask(Find(row, where, bin))[0]

    def add(self, rows: Sequence[Any], *, beside: str = "") -> Sequence[int]:
        if not rows:
            return ()
        tx, (it, _) = writable(self._asked), declared(_class(rows))
        made = _nodes(rows)
        keys = [tx.new_key() for _ in rows] if it.numbered_by else []
        for key, node in zip(keys, made, strict=False):
            node[it.numbered_by] = key
        tx.do(_create(_class(rows), beside), made)
        return keys

    def put(self, rows: Sequence[Any], *, replace: bool) -> None:
        if rows:
            it, _ = declared(_class(rows))
            known = ", ".join(f"{name}: row.{name}" for name in it.known_by)
            step = f"MERGE (n:{it.label} {{{known}}}){'' if replace else ' ON CREATE'} SET n = row"
            writable(self._asked).do(step, _nodes(rows))

    def set(self, row: type[Any], *where: Where, **values: Any) -> None:
        it, names = declared(row)[0], tuple(values)
        said = encoded(encoders(it, names, "node"), [*values.values()])
        self._each(it, where, dict(zip(names, said, strict=True)), _set)

    def change(self, row: type[Any], columns: Sequence[str], values: Mapping[int, Sequence[Any]]) -> None:
        it, names = declared(row)[0], tuple(columns)
        ways, marks = encoders(it, names, "node"), [f"set_{name}" for name in names]
        rows = [dict(zip(marks, encoded(ways, each), strict=True)) | {"w0": key} for key, each in values.items()]
        if it.table == "relation" and "relation_key" in names:  # what finds it goes with it
            names += ("told",)
            rows = [row | {"set_told": told(row["set_relation_key"])} for row in rows]
        for label in it.labels("any"):
            writable(self._asked).do(_set(it, (("key", "in"),), label, names), rows)

    def free(self, row: type[Any], *where: Where) -> None:
        self._each(declared(row)[0], where, {}, _delete)

    def _each(
        self,
        it: Declaration,
        where: Sequence[Where],
        values: Mapping[str, Any],
        step: Callable[[Declaration, Shape, str, tuple[str, ...]], str],
    ) -> None:
        """Do a step with one row that has all values; of the first set of keys, a row for each."""
        bound = _bound(it, where) | {f"set_{name}": value for name, value in values.items()}
        sets = [f"w{place}" for place, (_, op, _) in enumerate(where) if op == "in"]
        rows = [bound | {sets[0]: value} for value in bound[sets[0]]] if sets else [bound]
        for label in it.labels("any"):
            writable(self._asked).do(step(it, shape_of(where), label, tuple(values)), rows)


def queries_of(read: Read) -> list[Query]:
    """Return a query for each label; none where nothing can be found."""
    it, _ = declared(read.row)
    labels = it.labels(read.bin)
    if isinstance(read, Totals):
        values: dict[str, Any] = {"keys": sorted(read.keys)}
        queries = [_totals(read.row, read.by, read.letters, label) for label in labels]
    elif isinstance(read, Values):
        values = _bound(it, read.where)
        queries = [_listed(read.row, read.columns, shape_of(read.where), label, read.distinct) for label in labels]
    else:
        values = _bound(it, read.where)
        how = (shape_of(read.where), read.order, read.newest, bool(read.limit))
        queries = [_match(read.row, label, *how) for label in labels]
        values |= {"limit": read.limit} if read.limit else {}
    return [] if [] in values.values() else [(query, values) for query in queries]


def _in_order(read: Find, labels: int, rows: list[Any]) -> list[Any]:
    """Put the rows of several labels into one order."""
    if labels > 1 and read.order:
        rows.sort(key=lambda row: [getattr(row, name) for name in read.order], reverse=read.newest)
    return rows[: read.limit] if read.limit else rows


def _class(rows: Sequence[Any]) -> Any:
    return type(rows[0])


def _bound(it: Declaration, where: Sequence[Where]) -> dict[str, Any]:
    bound = {}
    for place, (column, op, value) in enumerate(where):
        way = it.columns[column].to_node
        if op == "in":
            bound[f"w{place}"] = sorted(value)
        elif op not in ("null", "known"):
            bound[f"w{place}"] = value if way is None or value is None else way(value)
    return bound


def _at(it: Declaration, label: str, props: str = "") -> str:
    said = f"n:{label} {{{props}}}" if props else f"n:{label}"
    return f"()-[{said}]->()" if it.edge else f"({said})"


def _found(it: Declaration, shape: Shape, label: str, *, step: bool = False) -> str:
    """Begin at the index that has a number as text, which is the fastest, and compare the rest.

    In a step of a transaction, values are those of its `row`.
    """
    unwound = ""
    props: list[str] = []
    parts: list[str] = []
    for place, (column, op) in enumerate(shape):
        name, value = it.in_node(column), f"row.w{place}" if step else f"$w{place}"
        by = it.known_by[0] if column == it.numbered_by else it.columns[column].found_by
        if by and (op == "=" or (op == "in" and not props)):
            if op == "in" and not step:
                unwound, value = f"UNWIND {value} AS each ", "each"
            props.append(f"{by}: {value if by == name else f'toString({value})'}")
        elif op == "in":
            parts.append(f"n.{name} {'=' if step else 'IN'} {value}")
        elif op in ("null", "known"):
            parts.append(f"n.{name} IS {'NOT ' * (op == 'known')}NULL")
        else:
            parts.append(f"n.{name} {op} {value}")
    return f"{unwound}MATCH {_at(it, label, ', '.join(props))}{' WHERE ' * bool(parts)}{' AND '.join(parts)}"


@cache
def _match(row: Any, label: str, shape: Shape, order: tuple[str, ...], newest: bool, limited: bool) -> str:
    it, names = declared(row)
    listed = ", ".join(f"n.{it.in_node(name)}" for name in names)
    ordered = ", ".join(f"n.{it.in_node(name)}{' DESC' * newest}" for name in order)
    tail = f"{f' ORDER BY {ordered}' if order else ''}{' LIMIT $limit' * limited}"
    return f"{_found(it, shape, label)} RETURN {listed}{tail}"


@cache
def _listed(row: Any, columns: tuple[str, ...], shape: Shape, label: str, distinct: bool) -> str:
    it, _ = declared(row)
    listed = ", ".join(f"n.{it.in_node(name)}" for name in columns)
    return f"{_found(it, shape, label)} RETURN {'DISTINCT ' * distinct}{listed}"


@cache
def _totals(row: Any, by: str, letters: str, label: str) -> str:
    it, _ = declared(row)
    sized = f"sum(size(n.{it.in_node(letters)}))" if letters else "0"
    return f"UNWIND $keys AS key MATCH {_at(it, label, f'{it.in_node(by)}: key')} RETURN key, count(n), {sized}"


def _nodes(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the properties of new nodes of one class."""
    it, names = declared(_class(rows))
    stored, ways = [it.in_node(name) for name in names], encoders(it, names, "node")
    texts = [
        (by, it.in_node(name)) for name in names if (by := it.columns[name].found_by) not in ("", it.in_node(name))
    ]
    made = []
    for row in rows:
        node = dict(zip(stored, encoded(ways, row), strict=True))
        for by, name in texts:
            node[by] = str(node[name])
        made.append(node)
    return made


@cache
def _create(row: Any, beside: str) -> str:
    it, _ = declared(row)
    if not beside:
        return f"CREATE (:{it.label} {{*row}})"
    by = it.columns[beside].found_by or it.in_node(beside)
    return (
        f"OPTIONAL MATCH (c:{it.label} {{{by}: row.{by}}}) WITH row, count(c) AS there WHERE there > 0"
        f" CREATE (n:{it.label}) SET n = row SET n.ref = toString(row.key)"
    )


@cache
def _set(it: Declaration, shape: Shape, label: str, names: tuple[str, ...]) -> str:
    said = [f"n.{it.in_node(name) if name in it.columns else name} = row.set_{name}" for name in names]
    if "version" in it.columns and "version" not in names:
        said.append("n.version = n.version + 1")
    return f"{_found(it, shape, label, step=True)} SET {', '.join(said)}"


@cache
def _delete(it: Declaration, shape: Shape, label: str, names: tuple[str, ...]) -> str:
    return f"{_found(it, shape, label, step=True)} DELETE n"
