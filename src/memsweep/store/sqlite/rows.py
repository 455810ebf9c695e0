"""Rows of declared things in a workspace file. Inside the caller's transaction; names come from declarations alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, TypeVar

import apsw

from memsweep.model.columns import Bin, Convert, Declaration, declared, decoder, encoded, encoders
from memsweep.store.rows import Find, Read, Shape, Totals, Values, Where, shape_of
from memsweep.store.sqlite import context_sql

R = TypeVar("R")
_OPS = {
    "=": "= ?",
    "<>": "<> ?",
    "in": "in (select value from json_each(?))",
    "null": "is null",
    "known": "is not null",
}
_WORDS = {"segment": (context_sql.UNINDEX_TEXT, context_sql.INDEX_TEXT)}
"""What keeps the word index with a text that changes: before, and after."""
_BINS = {"live": ["trash is null"], "trash": ["trash is not null"], "any": []}


class SqliteRows:
    """Implements `memsweep.store.rows.Rows`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def ask(self, *reads: Read) -> list[list[Any]]:
        return [self._answer(each) for each in reads]

    def find(self, row: type[R], *where: Where, bin: Bin = "live") -> list[R]:
        return self._answer(Find(row, where, bin))

    def _answer(self, read: Read) -> list[Any]:
        if isinstance(read, Totals):
            return self._db.execute(_totals(read), (json.dumps(sorted(read.keys)),)).fetchall()
        if _is_empty(read.where):
            return []
        bound = _bound(declared(read.row)[0], read.where)
        if isinstance(read, Values):
            said = _listed(read.row, read.columns, shape_of(read.where), read.bin, read.distinct)
            return self._db.execute(said, bound).fetchall()
        statement, decode = _select(read.row, shape_of(read.where), read.bin, read.order, read.newest, bool(read.limit))
        return [*map(decode, self._db.execute(statement, (*bound, read.limit) if read.limit else bound))]

    def add(self, rows: Sequence[Any], *, beside: str = "") -> Sequence[int]:
        if not rows:
            return ()
        statement, encode = _insert(_class(rows), beside, "")
        self._db.executemany(statement, map(encode, rows))
        last = self._db.last_insert_rowid()  # in a transaction they are given out one after the other
        return range(last - len(rows) + 1, last + 1)

    def put(self, rows: Sequence[Any], *, replace: bool) -> None:
        if rows:
            statement, encode = _insert(_class(rows), "", "replace" if replace else "ignore")
            self._db.executemany(statement, map(encode, rows))

    def set(self, row: type[Any], *where: Where, **values: Any) -> None:
        if _is_empty(where):
            return
        it, names = declared(row)[0], tuple(values)
        said = encoded(encoders(it, names, "file"), [*values.values()])
        self._db.execute(_update(it, names, shape_of(where)), (*said, *_bound(it, where)))

    def change(self, row: type[Any], columns: Sequence[str], values: Mapping[int, Sequence[Any]]) -> None:
        it, names = declared(row)[0], tuple(columns)
        ways = encoders(it, names, "file")
        bound = [(*encoded(ways, each), key) for key, each in values.items()]
        before, after = _WORDS.get(it.table, ("", "")) if "text" in names else ("", "")
        if before:
            self._db.executemany(before, [(key,) for key in values])
        self._db.executemany(_update(it, names, (("key", "="),)), bound)
        if after:
            self._db.executemany(after, [(key,) for key in values])

    def free(self, row: type[Any], *where: Where) -> None:
        if _is_empty(where):
            return
        it = declared(row)[0]
        self._db.execute(f"delete from {it.table}{_conditions(it, shape_of(where))}", _bound(it, where))


def _is_empty(where: Sequence[Where]) -> bool:
    """Return whether nothing can meet a condition, which saves the statement."""
    return any(op == "in" and not value for _, op, value in where)


def _class(rows: Sequence[Any]) -> Any:
    return type(rows[0])


def _bound(it: Declaration, where: Sequence[Where]) -> tuple[Any, ...]:
    bound = []
    for column, op, value in where:
        way = it.columns[column].to_file
        if op == "in":
            bound.append(json.dumps(sorted(value)))
        elif op not in ("null", "known"):
            bound.append(value if way is None or value is None else way(value))
    return tuple(bound)


def _conditions(it: Declaration, shape: Shape, bin: Bin = "any") -> str:
    parts = [f"{it.in_file(column)} {_OPS.get(op) or f'{op} ?'}" for column, op in shape]
    parts += _BINS[bin] if it.bins else []
    return f" where {' and '.join(parts)}" if parts else ""


@cache
def _select(
    row: Any, shape: Shape, bin: Bin, order: tuple[str, ...], newest: bool, limited: bool
) -> tuple[str, Callable[[Any], Any]]:
    it, names = declared(row)
    ordered = ", ".join(f"{it.in_file(name)}{' desc' * newest}" for name in order)
    said = (
        f"select {', '.join(map(it.in_file, names))} from {it.table}{_conditions(it, shape, bin)}"
        f"{f' order by {ordered}' if order else ''}{' limit ?' * limited}"
    )
    return said, decoder(row, "file")


@cache
def _listed(row: Any, columns: tuple[str, ...], shape: Shape, bin: Bin, distinct: bool) -> str:
    it, _ = declared(row)
    listed = ", ".join(map(it.in_file, columns))
    return f"select {'distinct ' * distinct}{listed} from {it.table}{_conditions(it, shape, bin)}"


def _totals(read: Totals) -> str:
    it, _ = declared(read.row)
    sized = f"cast(total(length({it.in_file(read.letters)})) as integer)" if read.letters else "0"
    by = it.in_file(read.by)
    return f"select {by}, count(*), {sized} from {it.table}{_conditions(it, ((read.by, 'in'),), read.bin)} group by 1"


@cache
def _insert(row: Any, beside: str, clash: str) -> tuple[str, Callable[[Any], Sequence[Any]]]:
    it, names = declared(row)
    given = [name for name in names if name != it.numbered_by]
    pick = itemgetter(*(names.index(name) for name in given))
    ways: list[tuple[int, Convert]] = encoders(it, given, "file")
    into = f"insert {f'or {clash} ' * bool(clash)}into {it.table} ({', '.join(map(it.in_file, given))})"
    marks = ", ".join(f"?{place + 1}" for place in range(len(given)))
    said = f"{into} values ({marks})"
    if beside:
        at = f"{it.in_file(beside)} = ?{given.index(beside) + 1}"
        said = f"{into} select {marks} where exists (select 1 from {it.table} where {at})"
    return said, lambda values: encoded(ways, pick(values))


@cache
def _update(it: Declaration, names: tuple[str, ...], shape: Shape) -> str:
    said = [f"{it.in_file(name)} = ?" for name in names]
    if "version" in it.columns and "version" not in names:
        said.append("version = version + 1")
    return f"update {it.table} set {', '.join(said)}{_conditions(it, shape)}"
