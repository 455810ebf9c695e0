"""Rows of declared things in a workspace file. Inside the caller's transaction; names come from declarations alone."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from memsweep.model.columns import Bin, Convert, Declaration, declared, decoder, encoded, encoders
from memsweep.store.file.connect import SUSPECTS, one
from memsweep.store.file.schema import GET_META, SET_META
from memsweep.store.rows import Find, Read, RowReads, Shape, Show, SumsBy, Tally, ThreadEnds, Values, Where, shape_of
from memsweep.store.sqlite.beside_sql import BESIDE, Beside

if TYPE_CHECKING:
    from memsweep.store.file.connect import Pool
    from memsweep.store.views import View

R = TypeVar("R")
ReadView = Callable[[Sequence[Any]], dict[str, Any]]
_OPS = {
    "=": "= ?",
    "<>": "<> ?",
    "in": "in (select value from json_each(?))",
    "within": "between ? and ?",
    "has": "instr({}, ?)",
    "lacks": "not instr({}, ?)",
    "begins": "instr({}, ?) = 1",
    "meets": "exists (select 1 from json_each({}) as each where each.value in (select value from json_each(?)))",
    "null": "is null",
    "known": "is not null",
}
_OF_TEXT = ("has", "lacks", "begins")
_BARE = ("null", "known", "lost")
_KEYS = "(select value from json_each(?))"
_JOINS = {
    "thread": " left join thread on thread.id = memory.thread",
    "origin": " left join origin on origin.id = memory.origin",
    "code_file": " left join code_file on code_file.memory = memory.id",
    "code_root": " left join code_root on code_root.id = code_file.root",
    "code_scope": " left join code_scope on code_scope.id = code_file.scope",
}
"""What a memory refers to."""
_FORMS = {"": "{}", "kept": "{}", "beginning": "substr({}, 1, {})", "length": "length({})"}
_THREAD_ENDS = f"""
    select uid, id, (select max(stream_position) from chunk where stream = thread.id) from thread
    where uid in {_KEYS}"""
_BINS = {"live": "trash is null", "trash": "trash is not null"}


def as_list(values: Iterable[Any]) -> str:
    """Return a set of keys as JSON, which a statement takes apart again."""
    return json.dumps(sorted(values))


class PoolRows(RowReads):
    """Reads that are each one moment."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def ask(self, *reads: Read) -> list[list[Any]]:
        with self._pool.reading() if reads[1:] else self._pool.connection() as db:
            return SqliteRows(db).ask(*reads)

    def find(self, row: type[R], *where: Where, bin: Bin = "live") -> list[R]:
        return self.ask(Find(row, where, bin))[0]

    def told(self, name: str) -> Any:
        with self._pool.reading() as db:
            return SqliteRows(db).told(name)


class SqliteRows:
    """Implements `memsweep.store.rows.Rows`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def ask(self, *reads: Read) -> list[list[Any]]:
        return [self._answer(each) for each in reads]

    def find(self, row: type[R], *where: Where, bin: Bin = "live") -> list[R]:
        return self._answer(Find(row, where, bin))

    def told(self, name: str) -> Any:
        return one(self._db, GET_META, (name,))

    def tell(self, **values: Any) -> None:
        self._db.executemany(SET_META, values.items())

    def _answer(self, read: Read) -> list[Any]:
        if isinstance(read, Show | Tally):
            return self._seen(read)
        if isinstance(read, SumsBy):
            if not read.by:
                return self._db.execute(_totals(read), _bound(declared(read.row)[0], read.where)).fetchall()
            return self._db.execute(_totals(read), () if read.keys is None else (as_list(read.keys),)).fetchall()
        if isinstance(read, ThreadEnds):
            return self._db.execute(_THREAD_ENDS, (as_list(read.ids),)).fetchall() if read.ids else []
        if _is_empty(read.where):
            return []
        bound = _bound(declared(read.row)[0], read.where)
        if isinstance(read, Values):
            said = _listed(read.row, read.columns, shape_of(read.where), read.bin, read.near, read.distinct)
            return self._db.execute(said, bound).fetchall()
        how = (read.order, read.newest, bool(read.limit))
        statement, decode = _select(read.row, shape_of(read.where), read.bin, read.near, *how)
        return [*map(decode, self._db.execute(statement, (*bound, read.limit) if read.limit else bound))]

    def _seen(self, read: Show | Tally) -> list[Any]:
        if _is_empty(read.where):
            return []
        bound = _bound(read.view, read.where)
        if isinstance(read, Tally):
            return self._db.execute(_tally(read.view, read.by, read.sums, shape_of(read.where)), bound).fetchall()
        said, decode = _look(read.view, shape_of(read.where), read.bin)
        try:
            return [*map(decode, self._db.execute(said, bound))]
        except SUSPECTS:  # one of them is damaged, and the others can still be had
            if not read.spare:
                raise
        (name, op, keys), *others = read.where
        if len(keys) == 1:
            return [None]
        each = [read._replace(where=((name, op, [key]), *others)) for key in keys]
        return [row for one in each for row in self._seen(one)]

    def add(self, rows: Sequence[Any], *, beside: str = "") -> Sequence[int]:
        if not rows:
            return ()
        statement, encode = _insert(_class(rows), beside, "")
        self._db.executemany(statement, map(encode, rows))
        last = self._db.last_insert_rowid()  # in a transaction they are given out one after the other
        made = range(last - len(rows) + 1, last + 1)
        if kept := BESIDE.get(declared(_class(rows))[0].table):
            self._with(kept.enter, made)
        return made

    def put(self, rows: Sequence[Any], *, replace: bool, live: Collection[str] = ()) -> None:
        if not rows:
            return
        clash = "replace" if replace else "ignore"
        it = declared(_class(rows))[0]
        made = _link(_class(rows), clash, frozenset(live)) if it.is_link else _insert(_class(rows), "", clash)
        self._db.executemany(made[0], map(made[1], rows))

    def drop(self, row: type[Any], known: Iterable[Sequence[Any]]) -> None:
        it = declared(row)[0]
        shape: Shape = tuple((name, "=") for name in it.identity)
        self._db.executemany(f"delete from {it.table}{_conditions(it, shape)}", [tuple(each) for each in known])

    def set(self, row: type[Any], *where: Where, **values: Any) -> None:
        if _is_empty(where):
            return
        it, names = declared(row)[0], tuple(values)
        said, bound = encoded(encoders(it, names, "file"), [*values.values()]), _bound(it, where)
        self._db.execute(_update(it, names, shape_of(where)), (*said, *bound))
        if it.is_link and not it.ends.keys().isdisjoint(names):  # those that are there already were left
            self._db.execute(f"delete from {it.table}{_conditions(it, shape_of(where))}", bound)

    def change(
        self, row: type[Any], columns: Sequence[str], values: Mapping[int, Sequence[Any]], *, bin: Bin = "any"
    ) -> None:
        if not values:
            return
        it, names = declared(row)[0], tuple(columns)
        ways = encoders(it, names, "file")
        bound = [(*encoded(ways, each), key) for key, each in values.items()]
        beside = BESIDE.get(it.table, Beside())
        if touched := not beside.columns.isdisjoint(names):
            self._with(beside.leave, values)
        if moving := it.bins and not it.ends.keys().isdisjoint(names):  # no two are at one place, not even for a moment
            self._db.execute(
                f"update {it.table} set trash = 0 where id in {_KEYS} and trash is null", (as_list(values),)
            )
        self._db.executemany(_update(it, names, (("key", "="),)), bound)
        if moving:
            self._db.execute(f"update {it.table} set trash = null where trash = 0")
        if touched:
            self._with(beside.enter, values)

    def move(self, row: type[Any], receipts: Mapping[int, int | None], *, bin: Bin = "live") -> None:
        it = declared(row)[0]
        beside = BESIDE.get(it.table, Beside())
        by_receipt: dict[int | None, list[int]] = defaultdict(list)
        for key, receipt in receipts.items():
            by_receipt[receipt].append(key)
        if beside.of_live and bin != "trash":
            self._with(beside.leave, [key for key, receipt in receipts.items() if receipt is not None])
        for receipt, keys in by_receipt.items():
            self._db.execute(_update(it, ("trash",), (("key", "in"),), raised=False), (receipt, as_list(keys)))
        if beside.of_live:
            self._with(beside.enter, by_receipt[None])
        self._with(beside.moved, receipts)

    def free(self, row: type[Any], *where: Where, bin: Bin = "any", wiped: bool = True) -> None:
        if _is_empty(where):
            return
        it = declared(row)[0]
        beside = BESIDE.get(it.table)
        if beside is not None:
            (found,) = self.ask(Values(row, ("key",), where, bin))
            keys = [key for (key,) in found]
            if not keys:
                return
            if not (beside.of_live and bin == "trash"):
                self._with(beside.leave, keys)
            for statement in beside.freed:
                self._with(statement, keys)
            where, bin = (("key", "in", keys),), "any"
        self._db.execute(f"delete from {it.table}{_conditions(it, shape_of(where), bin)}", _bound(it, where))
        for statement in beside.afterwards if beside and wiped else ():
            self._db.execute(statement)

    def _with(self, statement: str, keys: Collection[int]) -> None:
        if statement and keys:
            self._db.execute(statement, (as_list(keys),))


def _is_empty(where: Sequence[Where]) -> bool:
    """Return whether nothing can meet a condition, which saves the statement."""
    return any(not value and op in ("in", "within", "meets") for _, op, value in where)


def _class(rows: Sequence[Any]) -> Any:
    return type(rows[0])


def _bound(it: Declaration | View, where: Sequence[Where]) -> tuple[Any, ...]:
    bound: list[Any] = []
    for way, (_, op, value) in zip(_ways(it, shape_of(where)), where, strict=True):
        if op == "within":
            bound += [value[0], value[-1]]
        elif op not in _BARE:
            bound.append(value if way is None or value is None else way(value))
    return tuple(bound)


@cache
def _ways(it: Declaration | View, shape: Shape) -> list[Convert | None]:
    """Return how the value of each condition becomes what a statement is bound to."""
    ways: list[Convert | None] = []
    for name, op in shape:
        column = it.column(name)
        if op in ("in", "meets"):
            ways.append(_hex_list if op == "in" and column.sql == "blob" else as_list)
        else:
            ways.append(None if op in _OF_TEXT else column.to_file)
    return ways


def _hex_list(values: Iterable[bytes]) -> str:
    return json.dumps(sorted(value.hex() for value in values))


def _conditions(it: Declaration, shape: Shape, bin: Bin = "any", near: Bin = "any") -> str:
    """Say what rows must meet; `near` is where the ends are that they name."""
    parts = []
    for column, op in shape:
        said = _OPS.get(op) or f"{op} ?"
        if op == "in" and it.column(column).sql == "blob":
            said = said.replace("select value", "select unhex(value)")
        if op == "lost" and it.owner is not None:
            said = f"not in (select id from {it.owner[1].table})"
        if near != "any" and (to := it.target(column)) is not None:
            said = f"in (select id from {to.table} where id {said} and {_BINS[near]})"
        name = _name(it, column)
        parts.append(f"{said.format(name)}" if op in _OF_TEXT or op == "meets" else f"{name} {said}")
    if bin != "any" and it.bins:
        parts.append(f"{it.table}.{_BINS[bin]}")
    elif bin != "any" and it.ends:
        ends = (" and " if bin == "live" else " or ").join(f"{end}.{_BINS[bin]}" for end in it.ends)
        parts.append(f"({ends})")
    return f" where {' and '.join(parts)}" if parts else ""


def _name(it: Declaration, column: str) -> str:
    name = it.in_file(column)
    return name if "." in name or not it.ends else f"{it.table}.{name}"


def _from(it: Declaration, columns: Iterable[str], bin: Bin) -> str:
    """Say where rows are found: with the ends that something is asked of."""
    asked = {column.partition(".")[0] for column in columns if "." in column}
    asked |= set(it.ends) if bin != "any" and not it.bins else set()
    joins = [f" join {it.ends[end].table} as {end} on {end}.id = {it.table}.{end}" for end in sorted(asked)]
    return f"from {it.table}{''.join(joins)}"


@cache
def _select(
    row: Any, shape: Shape, bin: Bin, near: Bin, order: tuple[str, ...], newest: bool, limited: bool
) -> tuple[str, Callable[[Any], Any]]:
    it, names = declared(row)
    ordered = ", ".join(f"{_name(it, name)}{' desc' * newest}" for name in order if name in it.columns)
    said = (
        f"select {', '.join(_name(it, name) for name in names)}"
        f" {_from(it, (*names, *dict(shape)), bin)}{_conditions(it, shape, bin, near)}"
        f"{f' order by {ordered}' if ordered else ''}{' limit ?' * limited}"
    )
    return said, decoder(row, "file")


@cache
def _listed(row: Any, columns: tuple[str, ...], shape: Shape, bin: Bin, near: Bin, distinct: bool) -> str:
    it, _ = declared(row)
    listed = ", ".join(_name(it, name) for name in columns)
    found = f"{_from(it, (*columns, *dict(shape)), bin)}{_conditions(it, shape, bin, near)}"
    return f"select {'distinct ' * distinct}{listed} {found}"


def _totals(read: SumsBy) -> str:
    it, _ = declared(read.row)
    sized = f"cast(total(length({it.in_file(read.letters)})) as integer)" if read.letters else "0"
    shape: Shape = shape_of(read.where) if not read.by else () if read.keys is None else ((read.by, "in"),)
    found = f"{_from(it, (), read.bin)}{_conditions(it, shape, read.bin)}"
    by, grouped = (_name(it, read.by), " group by 1") if read.by else ("null", "")
    return f"select {by}, count(*), {sized} {found}{grouped}"


@cache
def _insert(row: Any, beside: str, clash: str) -> tuple[str, Callable[[Any], Sequence[Any]]]:
    it, names = declared(row)
    given = [name for name in names if name != it.numbered_by]
    first, *others = (names.index(name) for name in given)
    pick = itemgetter(first, *others) if others else itemgetter(slice(first, first + 1))
    ways: list[tuple[int, Convert]] = encoders(it, tuple(given), "file")
    into = f"insert {f'or {clash} ' * bool(clash)}into {it.table} ({', '.join(map(it.in_file, given))})"
    marks = ", ".join(f"?{place + 1}" for place in range(len(given)))
    said = f"{into} values ({marks})"
    if beside:
        at = f"{it.in_file(beside)} = ?{given.index(beside) + 1}"
        said = f"{into} select {marks} where exists (select 1 from {it.table} where {at})"
    return said, lambda values: encoded(ways, pick(values))


@cache
def _link(row: Any, clash: str, live: frozenset[str]) -> tuple[str, Callable[[Any], Sequence[Any]]]:
    """A link is in the trash if one of its ends is; of what is known to be live nothing is looked up."""
    it, names = declared(row)
    ways = encoders(it, names, "file")
    marks = {name: f"?{place}" for place, name in enumerate(names, 1)}
    sought = [name for name in it.identity if name not in live]
    values = [f"{name}.id" if name in sought else mark for name, mark in marks.items()]
    into = [it.in_file(name) for name in names]
    if it.bins and sought:
        trash = [f"{name}.trash" for name in sought]
        into, values = [*into, "trash"], [*values, f"coalesce({', '.join(trash)})" if trash[1:] else trash[0]]
    said = f"insert or {clash} into {it.table} ({', '.join(into)}) "
    if not sought:
        return f"{said}values ({', '.join(values)})", lambda given: encoded(ways, given)
    tables = ", ".join(f"{it.ends[name].table} as {name}" for name in sought)
    where = " and ".join(f"{name}.id = {marks[name]}" for name in sought)
    return f"{said}select {', '.join(values)} from {tables} where {where}", lambda given: encoded(ways, given)


@cache
def _update(it: Declaration, names: tuple[str, ...], shape: Shape, *, raised: bool = True) -> str:
    said = [f"{it.in_file(name)} = ?" for name in names]
    if raised and it.raises_version(names):
        said.append("version = version + 1")
    ends = {name: "?1" if name in names else f"{it.table}.{name}" for name in it.ends if it.is_link and it.bins}
    if not ends.keys().isdisjoint(names):  # one with a new end is where the other one is
        (kept,) = ends.keys() - set(names)
        said.append(f"trash = (select trash from {it.ends[kept].table} where id = {it.table}.{kept})")
    return f"update {'or ignore ' * it.is_link}{it.table} set {', '.join(said)}{_conditions(it, shape)}"


@cache
def viewed(view: View) -> tuple[str, str, ReadView]:
    """Return the columns of a view, what joins them to `memory`, and what reads them by name."""
    from memsweep.model.listing import SHOWN_CHARACTERS  # late: most commands list nothing

    names = [(f"{of.table}.{of.in_file(name)}", form) for of, name, form in view.columns.values()]
    columns = [_FORMS[form].format(name, SHOWN_CHARACTERS) for name, form in names]
    return ", ".join(columns), _joins(view, view.columns), view.reader("file")


def _joins(view: View, names: Iterable[str]) -> str:
    """Join what some columns of a view are of; folders and runs are found by the file."""
    tables = {view.columns[name].of.table for name in names}
    tables |= {"code_file"} if tables & {"code_root", "code_scope"} else set()
    return "".join(join for table, join in _JOINS.items() if table in tables)


@cache
def _look(view: View, shape: Shape, bin: Bin) -> tuple[str, ReadView]:
    columns, joins, read = viewed(view)
    start = "memory"
    if view.is_of_chunks:
        start = "chunk join memory on memory.id = chunk.memory and memory.trash is null"
    return f"select {columns} from {start}{joins}{_view_conditions(view, shape, bin)}", read


@cache
def _tally(view: View, by: tuple[str, ...], sums: tuple[str, ...], shape: Shape) -> str:
    """Return a statement of counts; where no file is asked for, over an index in which no text stands."""
    joins = _joins(view, (*by, *sums, *(name for name, _ in shape)))
    start = f"memory{joins}" if joins else "memory indexed by memory_by_number"
    summed = "".join(f", total({_at(view, name)})" for name in sums)
    grouped = ", ".join(_at(view, name) for name in by)
    return f"select {grouped}, count(*){summed} from {start}{_view_conditions(view, shape)} group by {grouped}"


def _at(view: View, name: str) -> str:
    of, column, _ = view.columns[name]
    return f"{of.table}.{of.in_file(column)}"


def _view_conditions(view: View, shape: Shape, bin: Bin = "live") -> str:
    parts = [f"{_at(view, name)} {_OPS.get(op) or f'{op} ?'}" for name, op in shape]
    if bin != "any":
        parts.append(f"{'chunk' if view.is_of_chunks else 'memory'}.{_BINS[bin]}")
    return f" where {' and '.join(parts)}" if parts else ""
