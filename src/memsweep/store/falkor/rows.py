"""Rows of declared things in a graph: reads at the revision that was seen, writes gathered for one query.

Names come from declarations alone; every value is a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memsweep.model.columns import Bin, Declaration, declared, decoder, encoded, encoders
from memsweep.store.falkor import metadata_index
from memsweep.store.falkor.reading import name_in
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.falkor.wire import Query
from memsweep.store.falkor.words import sought_by, terms_of, told
from memsweep.store.rows import Find, Read, Shape, Show, SumsBy, Tally, ThreadEnds, Values, Where, shape_of, sparing
from memsweep.store.things.memories import MEMORY, OriginRow

if TYPE_CHECKING:
    from memsweep.store.views import View

R = TypeVar("R")
_FOLLOW = """
    MATCH (begin)-[:{kind} {{ref: toString(row.w0)}}]->() MATCH (m)-[s:STATES {{relation: row.w0}}]->(was)
    WHERE was.key <> begin.key CREATE (m)-[:STATES {{relation: row.w0}}]->(begin) DELETE s"""
"""Statements of a fact lead to where it begins."""
ReadView = Callable[[Sequence[Any]], dict[str, Any]]
_PLACES = {"chunk": "c", "thread": "t", "origin": "o", "code_scope": "s"}
_JOINS = {
    "thread": " OPTIONAL MATCH (t:Thread {ref: toString(m.thread)})",
    "code_scope": " OPTIONAL MATCH (s:CodeScope {ref: toString(m.scope)})",
    "origin": " OPTIONAL MATCH (o:Origin {ref: toString(m.origin)})",
}
"""What a memory refers to; its file and the folder of that are with it."""
_FORMS = {"": "{}", "kept": "{}", "beginning": "left({}, {})", "length": "size({})"}


_OF_TEXT = ("has", "lacks", "begins")
_BARE = ("null", "known", "lost")


class _Derived(NamedTuple):
    """Properties that a node has besides its columns, made of some of them."""

    columns: frozenset[str]
    of: Callable[[Mapping[str, Any]], dict[str, Any]]


_DERIVED = {
    "chunk": _Derived(frozenset({"text", "words"}), lambda row: sought_by(terms_of(row["text"], row["words"]))),
    "relation": _Derived(frozenset({"relation_key"}), lambda row: {"told": told(row["relation_key"])}),
}
_ADD = {
    "chunk": """
        MATCH (m:{memory} {{ref: toString(row.memory)}})
        CREATE (m)-[:HAS_CHUNK {{index: row.position}}]->(:{chunk} {{*row}})""",
    "segment_link": "CREATE (:SegmentLink {{target: row.target, source: row.source}})",
}
_THREADS_AND_FOLDERS = "UNWIND $keys AS key MATCH (n:{} {{ref: toString(key)}}) RETURN n.thread, n.root"
LAST_OF_THREAD = """
    MATCH (t:Thread {ref: toString(row)}) OPTIONAL MATCH (c:Chunk {stream: row})
    WITH t, row, max(c.stream_position) AS live
    OPTIONAL MATCH (:TrashedMemory {thread: row})-[:HAS_CHUNK]->(g) WITH t, row, live, max(g.stream_position) AS gone
    SET t.last = CASE WHEN coalesce(gone, -1) > coalesce(live, -1) THEN gone ELSE coalesce(live, -1) END"""
"""What comes next stands behind the last that stands there, in the trash included."""
_FREE_FOLDER = """
    MATCH (t:CodeRoot {path: row}) OPTIONAL MATCH (m:Memory {root: row}) WITH row, t, count(m) AS live
    OPTIONAL MATCH (g:TrashedMemory {root: row}) WITH row, t, live, count(g) AS gone
    OPTIONAL MATCH (s:CodeSkip {root: row}) WITH row, t, live, gone, count(s) AS skips
    WHERE live + gone + skips = 0 OPTIONAL MATCH (c:CodeScope {root: row}) DELETE c, t"""
"""Folders of code that no file is left in."""
_THREAD_ENDS = "UNWIND $ids AS id MATCH (t:Thread {id: id}) RETURN t.id, t.key, t.last"
_GROWN = "MATCH (t:Thread {ref: toString(row.key)}) SET t.last = row.last"
_FREED = {
    "chunk": "MATCH (e:Embedding {ref: toString(row)}) DELETE e",
    "relation": "MATCH ()-[s:STATES {relation: row}]->() DELETE s",
}
"""What goes with rows that are freed by their keys, and is not at their nodes."""


class FalkorRows:
    """Implements `memsweep.store.rows.Rows`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        self._asked = asked

    def ask(self, *reads: Read) -> list[list[Any]]:
        lasting = self._asked.lasting
        queries = [[] if _is_lasting(each) and each in lasting else queries_of(each) for each in reads]
        wanted = [query for each in queries for query in each]
        answers = iter(self._asked.ask_all(*wanted) if wanted else ())
        found = []
        for read, asked in zip(reads, queries, strict=True):
            rows = [row for _ in asked for row in next(answers)]
            if isinstance(read, Values) and _tells_nodes(read):
                if isinstance(self._asked, Transaction):
                    (label,) = declared(read.row)[0].labels("trash")
                    self._asked.nodes.setdefault(label, {}).update({row[0]: row[-1] for row in rows})
                rows = [row[:-1] for row in rows]
            found.append(
                _in_order(read, len(asked), [*map(decoder(read.row, "node"), rows)]) if isinstance(read, Find) else rows
            )
            if isinstance(read, Show):
                decode = viewed(read.view)[2]
                found[-1] = [*map(sparing(decode) if read.spare else decode, rows)]
            elif isinstance(read, SumsBy) and not read.by:
                found[-1] = [(None, sum(number for (number,) in rows), 0)]
            elif _is_lasting(read):
                found[-1] = lasting.setdefault(read, found[-1]) if found[-1] else lasting.get(read, [])
        return found

    def find(self, row: type[R], *where: Where, bin: Bin = "live") -> list[R]:
        return self.ask(Find(row, where, bin))[0]

    def told(self, name: str) -> Any:
        asked = self._asked
        return (asked.meta if isinstance(asked, Transaction) else asked.meta()).get(name)

    def tell(self, **values: Any) -> None:
        writable(self._asked).set_meta(**values)

    def add(self, rows: Sequence[Any], *, beside: str = "") -> Sequence[int]:
        if not rows:
            return ()
        tx, (it, _) = writable(self._asked), declared(_class(rows))
        made = nodes_of(rows)
        keys = [tx.new_key() for _ in rows] if it.numbered_by else []
        for key, node in zip(keys, made, strict=False):
            node[it.numbered_by] = key
        if it is MEMORY:
            made = [node | metadata_index.values_of(tx.meta, node["metadata"]) for node in made]
        for which in ("live", "trash") if it.bins else ("any",):
            of_bin = [node for node in made if not it.bins or (node.get("trash") is None) == (which == "live")]
            if it.ends:
                of_bin = [{**{end: node.pop(end) for end in it.ends}, "set": node} for node in of_bin]
            tx.do(_create(_class(rows), beside, *it.labels(which)), of_bin)
        if it.table == "chunk":
            ends = {row.stream: row.stream_position for row in rows if row.stream is not None and row.stream > 0}
            if tx.freed_chunks:  # whose places may have been the last
                tx.do(LAST_OF_THREAD, [*ends])
            else:
                tx.do(_GROWN, [{"key": thread, "last": last} for thread, last in ends.items()])
        elif it.table == "vector":
            tx.new_vectors += [[node["key"], node["data"]] for node in made]
        return keys

    def put(self, rows: Sequence[Any], *, replace: bool, live: Collection[str] = ()) -> None:
        if not rows:
            return
        it, _ = declared(_class(rows))
        made, when = nodes_of(rows), "" if replace else " ON CREATE"
        if it.is_link:
            for step in _links(_class(rows), when, frozenset(live)):
                writable(self._asked).do(step, made)
        elif it.kept_with:
            writable(self._asked).do(f"MATCH (n:{it.label} {{ref: toString(row.key)}}) SET n += row", made)
        else:
            known = ", ".join(f"{name}: row.{name}" for name in it.known_by)
            writable(self._asked).do(f"MERGE (n:{it.label} {{{known}}}){when} SET n = row", made)

    def drop(self, row: type[Any], known: Iterable[Sequence[Any]]) -> None:
        it = declared(row)[0]
        rows = [{f"w{place}": value for place, value in enumerate(each)} for each in known]
        shape: Shape = tuple((name, "=") for name in it.identity)
        for place in _places(it, shape, "any", "any"):
            writable(self._asked).do(_delete(it, shape, place, ()), rows)

    def set(self, row: type[Any], *where: Where, **values: Any) -> None:
        it, names = declared(row)[0], tuple(values)
        if end := next((name for name in names if name in it.ends), ""):
            ((_, _, key),) = where
            for step in _hand_on(it, end):
                writable(self._asked).do(step, [{"key": key, "other": values[end]}])
            return
        said = encoded(encoders(it, names, "node"), [*values.values()])
        self._each(it, where, dict(zip(names, said, strict=True)), _set)

    def change(
        self, row: type[Any], columns: Sequence[str], values: Mapping[int, Sequence[Any]], *, bin: Bin = "any"
    ) -> None:
        it, names = declared(row)[0], tuple(columns)
        ways = encoders(it, names, "node")
        changed = [dict(zip(names, encoded(ways, each), strict=True)) for each in values.values()]
        derive = _DERIVED.get(it.table)
        if derive is not None and derive.columns <= set(names):  # what finds it goes with it
            changed = [each | derive.of(each) for each in changed]
        if it is MEMORY and "metadata" in names:
            meta = writable(self._asked).meta
            changed = [each | metadata_index.values_of(meta, each["metadata"]) for each in changed]
        rows = [
            {f"set_{name}": value for name, value in each.items()} | {"w0": key}
            for key, each in zip(values, changed, strict=True)
        ]
        if not rows:
            return
        names = tuple(changed[0])
        if not it.ends.keys().isdisjoint(names):
            self._between_others(it, names, rows, bin)
            return
        shape: Shape = (("key", "in"),)
        for place in _places(it, shape, bin, "any"):
            writable(self._asked).do(_set(it, shape, place, names), rows)

    def _between_others(self, it: Declaration, names: tuple[str, ...], rows: Sequence[Any], bin: Bin) -> None:
        """Make edges again between other ends. Statements of a fact lead to where it begins."""
        tx = writable(self._asked)
        for kind in it.labels(bin):
            tx.do(_again(it, names, kind), rows)
            tx.do(_FOLLOW.format(kind=kind), rows)

    def move(self, row: type[Any], receipts: Mapping[int, int | None], *, bin: Bin = "live") -> None:
        tx, it = writable(self._asked), declared(row)[0]
        (live,), (trash,), (before,) = it.labels("live"), it.labels("trash"), it.labels(bin)
        back = [key for key, receipt in receipts.items() if receipt is None]
        nodes = tx.nodes_of(trash, back)
        tx.do(_move(it, trash, live, at_nodes=nodes is not None), [{"at": at} for at in nodes or sorted(back)])
        held = [{"at": key, "trash": receipt} for key, receipt in sorted(receipts.items()) if receipt is not None]
        tx.do(_move(it, before, trash), held)

    def free(self, row: type[Any], *where: Where, bin: Bin = "any", wiped: bool = True) -> None:
        tx, it = writable(self._asked), declared(row)[0]
        left = self._left_by(where) if it is MEMORY else ()
        self._each(it, where, {}, _delete, bin)
        for step, values in left:
            tx.do(step, values)
        if it.table in _FREED:
            ((_, _, keys),) = where
            tx.do(_FREED[it.table], sorted(keys))
            tx.freed_chunks.update(keys if it.table == "chunk" else ())

    def _left_by(self, where: Sequence[Where]) -> Iterable[tuple[str, list[Any]]]:
        """Return steps for the threads that memories were in, and for the folders of code."""
        ((_, _, keys),) = where
        asked = [(_THREADS_AND_FOLDERS.format(label), {"keys": sorted(keys)}) for label in MEMORY.labels("any")]
        rows = [row for found in self._asked.ask_all(*asked) for row in found]
        threads, folders = ({row[place] for row in rows if row[place] is not None} for place in (0, 1))
        return (LAST_OF_THREAD, sorted(threads)), (_FREE_FOLDER, sorted(folders))

    def _each(
        self,
        it: Declaration,
        where: Sequence[Where],
        values: Mapping[str, Any],
        step: Callable[[Declaration, Shape, Location, tuple[str, ...]], str],
        bin: Bin = "any",
    ) -> None:
        """Do a step with one row that has all values; of the first set of keys, a row for each."""
        bound = _bound(it, where) | {f"set_{name}": value for name, value in values.items()}
        sets = [f"w{place}" for place, (_, op, _) in enumerate(where) if op == "in"]
        rows = [bound | {sets[0]: value} for value in bound[sets[0]]] if sets else [bound]
        shape = shape_of(where)
        for place in _places(it, shape, bin, "any"):
            writable(self._asked).do(step(it, shape, place, tuple(values)), rows)


def _is_lasting(read: Read) -> bool:
    """Return whether the answer stays as it is once there is one: it is asked for until then, and not again."""
    return isinstance(read, Find) and read.row is OriginRow and {op for _, op, _ in read.where} == {"="}


def queries_ahead(graph: GraphHandle, reads: Iterable[Read]) -> list[Query]:
    """Return the queries of what a transaction will ask first."""
    asked = (each for each in reads if not (_is_lasting(each) and each in graph.lasting))
    return [query for each in asked for query in queries_of(each)]


def queries_of(read: Read) -> list[Query]:
    """Return a query for each place; none where nothing can be found."""
    if isinstance(read, Show | Tally):
        values, shape = _bound(read.view, read.where), shape_of(read.where)
        if isinstance(read, Tally):
            seen = [_tally(read.view, read.by, read.sums, shape)]
        else:
            seen = [_look(read.view, shape, label) for label in MEMORY.labels(read.bin)]
        return [] if [] in values.values() else [(each, values) for each in seen]
    if isinstance(read, ThreadEnds):
        return [(_THREAD_ENDS, {"ids": sorted(read.ids)})] if read.ids else []
    it, _ = declared(read.row)
    if isinstance(read, SumsBy):
        if not read.by:
            counted = [_count(it, shape_of(read.where), label) for label in it.labels(read.bin)]
            return [(each, _bound(it, read.where)) for each in counted]
        values = {} if read.keys is None else {"w0": sorted(read.keys)}
        shape = () if read.keys is None else ((read.by, "in"),)
        places = _places(it, shape, read.bin, "live" if it.ends and read.bin == "live" else "any")
        queries = [_totals(read.row, read.by, read.letters, place, every=read.keys is None) for place in places]
    else:
        where = _by_names(it, read.where)
        values, shape = _bound(it, where), shape_of(where)
        places = _places(it, shape, read.bin, read.near)
        if isinstance(read, Values):
            listed = (read.distinct, _tells_nodes(read))
            queries = [_listed(read.row, read.columns, shape, place, *listed) for place in places]
        else:
            how = (read.order, read.newest, bool(read.limit))
            queries = [_match(read.row, shape, place, *how) for place in places]
            values |= {"limit": read.limit} if read.limit else {}
    return [] if [] in values.values() else [(query, values) for query in queries]


def _tells_nodes(read: Values) -> bool:
    """Return whether the nodes are asked for as well, where what comes back is found again at a tenth of the cost."""
    return read.bin == "trash" and read.columns[0] == "key" and not declared(read.row)[0].edge


def _in_order(read: Find, places: int, rows: list[Any]) -> list[Any]:
    """Put the rows of several places into one order."""
    order = _order(declared(read.row)[0], read.order)
    if places > 1 and order:
        rows.sort(key=lambda row: [getattr(row, name) for name in order], reverse=read.newest)
    return rows[: read.limit] if read.limit else rows


def _class(rows: Sequence[Any]) -> Any:
    return type(rows[0])


def _bound(it: Declaration | View, where: Sequence[Where]) -> dict[str, Any]:
    bound: dict[str, Any] = {}
    for place, (column, op, value) in enumerate(where):
        way = it.column(column).to_node
        if op == "meets":
            bound[f"w{place}"] = sorted(value)
        elif op in ("in", "within"):
            bound[f"w{place}"] = sorted(value if way is None else map(way, value))
        elif op not in _BARE:
            is_text = op in _OF_TEXT
            bound[f"w{place}"] = value if way is None or value is None or is_text else way(value)
    return bound


def _by_names(it: Declaration, where: tuple[Where, ...]) -> tuple[Where, ...]:
    """Put names in the place of the values of a window, which no index tells from those of others."""
    window = next((value for column, op, value in where if (column, op) == ("project", "=")), None)
    names = {column: name for name, column in it.named.items()}
    named = {column for column, op, _ in where if column in names and op in ("in", "within")}
    if window is None or not named:
        return where
    return tuple(
        (names[column], "in", [name_in(window, each) for each in value]) if column in named else (column, op, value)
        for column, op, value in where
        if column != "project"
    )


class Location(NamedTuple):
    """The location of rows: a label, or the type of an edge and the labels of its ends, as far as they matter."""

    kind: str
    begin: str = ""
    end: str = ""
    owner: str = ""


@cache
def _places(it: Declaration, shape: Shape, bin: Bin, near: Bin) -> list[Location]:
    """Return where rows that meet conditions are: of an edge, with the end that it is looked up by."""
    start = _start(it, shape)
    to = it.target(start) if start else None
    owners = to.labels(near) if to and _index(it, start)[0] == "o" else ("",)
    if not it.ends:
        return [Location(label, owner=owner) for label in it.labels(bin) for owner in owners]
    by_end = start in it.ends and not it.ends[start].edge
    live = bin == "live" and (it.is_link or not start)
    ends = [
        ("",)
        if end.edge or not (live or (by_end and name == start))
        else end.labels(near if name == start and near != "any" else "live" if live else "any")
        for name, end in it.ends.items()
    ]
    kinds = ("|".join(it.labels(bin)),) if by_end else it.labels(bin)
    places = [(kind, begin, end) for kind in kinds for begin in ends[0] for end in ends[1]]
    return [Location(*place, owner) for place in places for owner in owners]


def _start(it: Declaration, shape: Shape) -> str:
    """Return the column that rows are looked up by: with two indexes of an edge, the server would miss some."""
    return next((column for column, op in shape if op in ("=", "in") and _index(it, column)[1]), "")


def _at(it: Declaration, place: Location, props: Mapping[str, Sequence[str]], own: str = "n") -> str:
    """Say where something is, with properties that an index finds: `n` of itself, `a` and `b` of its ends."""

    def said(name: str, label: str) -> str:
        listed = f" {{{', '.join(props[name])}}}" if props.get(name) else ""
        return f"{name}{':' * bool(label)}{label}{listed}"

    if not it.ends:
        return f"{_owner(place, props)}({said('n', place.kind)})"
    edge = said("n", place.kind).removeprefix("" if own else "n")
    return f"{_owner(place, props)}({said('a', place.begin)})-[{edge}]->({said('b', place.end)})"


def _owner(place: Location, props: Mapping[str, Sequence[str]]) -> str:
    return f"(:{place.owner} {{{props['o'][0]}}})-[:HAS_CHUNK]->" if place.owner else ""


def _value(it: Declaration, column: str) -> str:
    """Say a column: a property, the key of an end, or a property of it."""
    end, _, far = column.partition(".")
    if column in it.named:
        return f"n.{column}"
    if end not in it.ends or (it.ends[end].edge and not far):
        return f"n.{it.in_node(column)}"
    return f"{'ab'[list(it.ends).index(end)]}.{it.in_node(column) if far else 'key'}"


def _index(it: Declaration, column: str) -> tuple[str, str]:
    """Return by which property of what a column is found, and nothing where no index has it."""
    if column in it.named:
        return "n", column
    if column in it.ends:
        of = _value(it, column)
        return (of[0], "ref") if of[0] != "n" else ("n", column)
    if it.target(column) is not None:  # what it is a part of
        return "o", "ref"
    if "." in column:
        return "", ""
    return "n", it.known_by[0] if column == it.numbered_by == "key" else it.columns[column].found_by


def _found(it: Declaration, shape: Shape, place: Location, *, step: bool = False) -> str:
    """Begin at the index that has a number as text, which is the fastest, and compare the rest.

    In a step of a transaction, values are those of its `row`, and each has one of the first set.
    """
    unwound = ""
    props: dict[str, list[str]] = {"n": [], "a": [], "b": [], "o": []}
    parts: list[str] = []
    sets, start = [at for at, (_, op) in enumerate(shape) if op == "in"], _start(it, shape)
    for at, (column, op) in enumerate(shape):
        name, value = _value(it, column), f"row.w{at}" if step else f"$w{at}"
        of, by = _index(it, column)
        if by and (op == "=" or (op == "in" and at == sets[0])) and (column == start or not (it.ends or of == "o")):
            if op == "in" and not step:
                unwound, value = f"UNWIND {value} AS each ", "each"
            props[of].append(f"{by}: {value if f'{of}.{by}' == name else f'toString({value})'}")
        elif op == "in":
            parts.append(f"{name} {'=' if step and at == sets[0] else 'IN'} {value}")
        elif op == "meets":
            parts.append(f"any(each IN {name} WHERE each IN {value})")
        elif op == "within":
            parts.append(f"{value}[0] <= {name} AND {name} <= {value}[-1]")
        elif op in ("null", "known"):
            parts.append(f"{name} IS {'NOT ' * (op == 'known')}NULL")
        elif op == "lost":
            parts.append("indegree(n, 'HAS_CHUNK') = 0")
        elif op in _OF_TEXT:
            parts.append(f"{'NOT ' * (op == 'lacks')}{name} {'STARTS WITH' if op == 'begins' else 'CONTAINS'} {value}")
        elif op == ">" and it.column(column).sql == "text":  # no index: the server reads its bounds in small letters
            parts.append(f"coalesce({name}, '') > {value}")
        else:
            parts.append(f"{name} {op} {value}")
    if it.ends:
        return unwound + _between(it, place, props, parts, "row, " if step else "")
    return f"{unwound}MATCH {_at(it, place, props)}{_where(parts)}"


def _between(
    it: Declaration, place: Location, props: Mapping[str, Sequence[str]], parts: Sequence[str], kept: str
) -> str:
    """Compare the ends once edges are found: with conditions on both, the server would begin at every node."""
    own = [part for part in parts if part.startswith("n.")]
    others = [part for part in parts if part not in own]
    if not props["n"]:
        ends = f" WITH {kept}a, n, b" if others else ""
        return f"MATCH {_at(it, place, props)}{_where(own)}{ends}{_where(others)}"
    labels = (("a", place.begin), ("b", place.end))
    others += [f"{end}.trash IS {'NOT ' * label.startswith('Trashed')}NULL" for end, label in labels if label]
    ends = f" WITH {kept}n, startNode(n) AS a, endNode(n) AS b" if others or not kept else ""
    at = f"MATCH ()-[n:{place.kind} {{{', '.join(props['n'])}}}]->()"
    return f"{at}{_where(own)}{ends}{_where(others)}"


def _where(parts: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def _order(it: Declaration, order: tuple[str, ...]) -> list[str]:
    return [name for name in order if name in it.columns]


@cache
def _match(row: Any, shape: Shape, place: Location, order: tuple[str, ...], newest: bool, limited: bool) -> str:
    it, names = declared(row)
    listed = ", ".join(_value(it, name) for name in names)
    ordered = ", ".join(f"{_value(it, name)}{' DESC' * newest}" for name in _order(it, order))
    tail = f"{f' ORDER BY {ordered}' if ordered else ''}{' LIMIT $limit' * limited}"
    return f"{_found(it, shape, place)} RETURN {listed}{tail}"


@cache
def _listed(row: Any, columns: tuple[str, ...], shape: Shape, place: Location, distinct: bool, with_nodes: bool) -> str:
    it, _ = declared(row)
    listed = ", ".join([*(_value(it, name) for name in columns), *["ID(n)"] * with_nodes])
    return f"{_found(it, shape, place)} RETURN {'DISTINCT ' * distinct}{listed}"


@cache
def _totals(row: Any, by: str, letters: str, place: Location, *, every: bool) -> str:
    it, _ = declared(row)
    sized = f"sum(size({_value(it, letters)}))" if letters else "0"
    of, ref = _index(it, by)
    if every:
        return f"MATCH {_at(it, place, {}, '' if it.is_link else 'n')} RETURN {_value(it, by)}, count(*), {sized}"
    if it.is_link:  # a name for an edge that is only counted would cost a fifth
        found = f"{ref}: {'each' if of == 'n' else 'toString(each)'}"
        return f"UNWIND $w0 AS each MATCH {_at(it, place, {of: [found]}, '')} RETURN each, count(*), 0"
    at = _at(it, place, {of: [f"{it.in_node(by)}: each" if of == "n" else "ref: toString(each)"]})
    return f"UNWIND $w0 AS each MATCH {at} RETURN each, count(n), {sized}"


@cache
def _count(it: Declaration, shape: Shape, label: str) -> str:
    """Count what meets conditions; without any, as the server does without looking at one."""
    if shape:
        return f"{_found(it, shape, Location(label))} RETURN count(n)"
    return f"MATCH {f'()-[n:{label}]->()' if it.edge else f'(n:{label})'} RETURN count(n)"


def nodes_of(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the properties of new nodes of one class."""
    it, names = declared(_class(rows))
    stored, ways = [it.in_node(name) for name in names], encoders(it, names, "node")
    derive = _DERIVED.get(it.table)
    texts = [
        (by, it.in_node(name))
        for name in names
        if (by := it.columns[name].found_by) not in ("", "ref", it.in_node(name))
    ]
    made = []
    for row in rows:
        node = dict(zip(stored, encoded(ways, row), strict=True))
        for by, name in texts:
            node[by] = str(node[name])
        for name, column in it.named.items():
            node[name] = name_in(row.project, getattr(row, column))
        made.append(node | derive.of(node) if derive else node)
    return made


@cache
def _links(row: Any, when: str, live: frozenset[str]) -> list[str]:
    """Return the steps that make links of a class, one for each pair of places where the ends may be."""
    it, names = declared(row)
    places = [[(end, label) for label in to.labels("live" if end in live else "any")] for end, to in it.ends.items()]
    said = [f"n.{it.in_node(name)} = row.{it.in_node(name)}" for name in names if name not in it.ends]
    own = ", ".join(f"{end}: row.{end}" for end, to in it.ends.items() if to.edge)
    steps = []
    for begin in places[0]:
        for end in places[1]:
            found = " ".join(_end(it, name, *each) for name, each in (("a", begin), ("b", end)))
            made = f"MERGE (a)-[n:{it.edge[0]}{f' {{{own}}}' if own else ''}]->(b)"
            steps.append(f"{found} {made}{f'{when} SET {chr(44).join(said)}' if said else ''}")
    return steps


def _end(it: Declaration, name: str, end: str, label: str) -> str:
    """Find one end of a new link; a fact is where it begins."""
    at = f"{{ref: toString(row.{end})}}"
    return f"MATCH ({name})-[:{label} {at}]->()" if it.ends[end].edge else f"MATCH ({name}:{label} {at})"


@cache
def _create(row: Any, beside: str, label: str) -> str:
    it, _ = declared(row)
    if it.table in _ADD:
        return _ADD[it.table].format(memory=label.replace("Chunk", "Memory"), chunk=label)
    if it.ends:
        ends = [(end, to.labels("live")[0]) for end, to in it.ends.items()]
        found = " ".join(_end(it, name, *end) for name, end in zip("ab", ends, strict=True))
        return f"{found} CREATE (a)-[:{label} {{*row.set}}]->(b)"
    if not beside:
        return f"CREATE (:{label} {{*row}})"
    by = it.columns[beside].found_by or it.in_node(beside)
    return (
        f"OPTIONAL MATCH (c:{it.label} {{{by}: row.{by}}}) WITH row, count(c) AS there WHERE there > 0"
        f" CREATE (n:{it.label}) SET n = row SET n.ref = toString(row.key)"
    )


@cache
def _set(it: Declaration, shape: Shape, place: Location, names: tuple[str, ...]) -> str:
    said = [f"n.{it.in_node(name) if name in it.columns else name} = row.set_{name}" for name in names]
    said += [f"n.{name} = n.project + ':' + row.set_{column}" for name, column in it.named.items() if column in names]
    if it.raises_version(names):
        said.append("n.version = n.version + 1")
    return f"{_found(it, shape, place, step=True)} SET {', '.join(said)}"


@cache
def _delete(it: Declaration, shape: Shape, place: Location, names: tuple[str, ...]) -> str:
    return f"{_found(it, shape, place, step=True)} {'DETACH ' * (it.bins and not it.edge)}DELETE n"


@cache
def _again(it: Declaration, names: tuple[str, ...], kind: str) -> str:
    """Say how an edge is made again between other ends, wherever these are by now."""
    found, ends = [f"MATCH ()-[r:{kind} {{ref: toString(row.w0)}}]->()"], []
    for end, to in it.ends.items():
        for label in to.labels("any"):
            found.append(f"OPTIONAL MATCH ({end}{label}:{label} {{ref: toString(row.set_{end})}})")
        ends.append(f"coalesce({', '.join(f'{end}{label}' for label in to.labels('any'))}) AS {end}")
    begin, end = it.ends
    said = ", ".join(f"n.{it.in_node(name)} = row.set_{name}" for name in names if name not in it.ends)
    return (
        f"{' '.join(found)} WITH row, r, {', '.join(ends)} CREATE ({begin})-[n:{kind}]->({end})"
        f" SET n = properties(r){f' SET {said}' if said else ''} DELETE r"
    )


@cache
def _hand_on(it: Declaration, end: str) -> list[str]:
    """Say how edges at one end are given another one. Statements lead to where their fact begins."""
    begins = end == next(iter(it.ends))
    edges = [(kind, begins, it.is_link) for kind in it.edge]
    if it.table == "relation" and begins:
        edges.append(("STATES", False, False))
    to = f"MATCH (to:{it.ends[end].label} {{ref: toString(row.other)}})"
    steps = []
    for label in it.ends[end].labels("any"):
        was = f"(was:{label} {{ref: toString(row.key)}})"
        for kind, leaves, once in edges:
            found = f"{was}-[n:{kind}]->(far)" if leaves else f"(far)-[n:{kind}]->{was}"
            made = f"(to)-[m:{kind}]->(far)" if leaves else f"(far)-[m:{kind}]->(to)"
            how = f"MERGE {made} ON CREATE SET" if once else f"CREATE {made} SET"
            steps.append(f"MATCH {found} {to} {how} m = properties(n) DELETE n")
    return steps


@cache
def _move(it: Declaration, before: str, after: str, *, at_nodes: bool = False) -> str:
    """Give what is at a key, or at a node, another label or type."""
    found = f"MATCH {_at(it, Location(before), {'n': [] if at_nodes else ['ref: toString(row.at)']})}"
    found += " WHERE ID(n) = row.at" if at_nodes else ""
    if it.edge and before != after:
        return f"{found} CREATE (a)-[m:{after}]->(b) SET m = properties(n) SET m.trash = row.trash DELETE n"
    return f"{found}{f' REMOVE n:{before} SET n:{after}' if before != after else ''} SET n.trash = row.trash"


@cache
def viewed(view: View) -> tuple[str, str, ReadView]:
    """Return the columns of a view, what joins them to a memory `m`, and what reads them by name."""
    from memsweep.model.listing import SHOWN_CHARACTERS  # late: most commands list nothing

    forms = [(_at_view(view, name), each.form) for name, each in view.columns.items()]
    columns = [_FORMS[form].format(place, SHOWN_CHARACTERS) for place, form in forms]
    tables = {of.table for of, _, _ in view.columns.values()}
    return ", ".join(columns), "".join(join for table, join in _JOINS.items() if table in tables), view.reader("node")


def _at_view(view: View, name: str) -> str:
    of, column, _ = view.columns[name]
    return "m.root" if of.table == "code_root" else f"{_PLACES.get(of.table, 'm')}.{of.in_node(column)}"


@cache
def _look(view: View, shape: Shape, label: str = "Memory") -> str:
    columns, joins, _ = viewed(view)
    return f"{_seen(view, shape, label)}{joins} RETURN {columns}"


@cache
def _tally(view: View, by: tuple[str, ...], sums: tuple[str, ...], shape: Shape) -> str:
    counted = ", ".join([*(_at_view(view, name) for name in by), "count(m)"])
    return f"{_seen(view, shape)} RETURN {counted}{''.join(f', sum({_at_view(view, name)})' for name in sums)}"


def _seen(view: View, shape: Shape, label: str = "Memory") -> str:
    """Find memories, or their pieces, by the first condition that an index knows."""
    unwound, parts = "", list[str]()
    props = {"m": "", "c": ""}
    for place, (name, op) in enumerate(shape):
        at, how = _at_view(view, name), view.columns[name]
        by = "ref" if how.column == "key" else how.how.found_by
        if op == "in" and by and not unwound:
            unwound = f"UNWIND $w{place} AS each "
            props[at[0]] = f" {{{by}: {'toString(each)' if by == 'ref' else 'each'}}}"
        elif op in ("null", "known"):
            parts.append(f"{at} IS {'NOT ' * (op == 'known')}NULL")
        else:
            parts.append(f"{at} {'IN' if op == 'in' else op} $w{place}")
    memory, chunk = f"(m:{label}{props['m']})", f"(c:Chunk{props['c']})"
    ends = f"{chunk}<-[:HAS_CHUNK]-{memory}" if props["c"] else f"{memory}-[:HAS_CHUNK]->{chunk}"
    return f"{unwound}MATCH {ends if view.is_of_chunks else memory}{' WHERE ' * bool(parts)}{' AND '.join(parts)}"
