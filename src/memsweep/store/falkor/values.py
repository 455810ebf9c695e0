"""Properties that cannot be right: found, named, and mended by the rules that workspace files have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from memsweep.errors import StoreCorrupt
from memsweep.model.ids import is_own_id
from memsweep.store.falkor import care_cypher, reading
from memsweep.store.falkor.row_codec import Row
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.file.invalid_values import mended, misfits, shown
from memsweep.store.file.repair import Mended
from memsweep.store.things.every import TABLES

_NAMED = 3
# Where the rows of a table are; the trash has labels of its own.
_LABELS = {it.table: it.labels("any") for it in TABLES.values() if it.numbered_by == "key" or it.table == "vector"}
_LABELS["code_file"] = _LABELS["memory"]
_DERIVED = {"memory_tag", "segment_link"}
"""Rows that a graph keeps as a property of another one."""
_ITEMS = {"memory", "chunk", "entity"}
_BETWEEN = {"relation", "supersession"}
_EDGES = ("RELATED_TO", "WAS_RELATED_TO")
_KEYS = {"code_file": "memory", "vector": "chunk", "supersession": "new"}


class DamagedProperty(NamedTuple):
    """A row with values that cannot be right, and whose it is as people know it."""

    table: str
    row: Row
    columns: list[str]
    name: str

    @property
    def place(self) -> str:
        return f"{self.name} ({', '.join(f'{self.table}.{column}' for column in self.columns)})"


def find(asked: GraphHandle | Transaction) -> Iterator[DamagedProperty]:
    """Every damaged row of a graph."""
    names: dict[Any, str] = {}
    owners: dict[Any, Any] = {}
    found = []
    for page in reading.pages(asked):
        for table, row in page:
            if table == "memory":
                names[row["id"]] = str(row["uid"])
            elif table == "chunk":
                owners[row["id"]] = row["memory"]
            if table not in _DERIVED and (wrong := _wrong(table, row)):
                found.append((table, row, wrong))
    for table, row, wrong in found:
        memory = {"memory": row.get("id"), "vector": owners.get(row.get("chunk"))}.get(table, row.get("memory"))
        own = names.get(memory) or row.get("uid") or row.get("name") or f"a row of {table}"
        yield DamagedProperty(table, row, wrong, str(own))


def _wrong(table: str, row: Row) -> list[str]:
    """A graph names folders by their paths; one that is missing is another finding."""
    return [column for column in misfits(table, row) if column != "root"]


def explain(graph: GraphHandle) -> StoreCorrupt | None:
    """Return the damage in a graph, if that may be why reading it failed."""
    places = [damaged.place for damaged in find(graph)]
    if not places:
        return None
    more = f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
    return StoreCorrupt(
        f"the graph {graph.name} is damaged: {', '.join(places[:_NAMED])}{more} cannot be read.",
        hint="`memsweep doctor` shows all of it; --repair saves what can be saved.",
    )


def mend(tx: Transaction, now: int) -> Mended:
    """Set what is right, or the best that can be made of it, in every damaged node or edge."""
    said, ids = [], []
    for damaged in find(tx):
        table, row, wrong, name = damaged
        key = row.get(_KEYS.get(table, "id"))
        values = mended(table, row, wrong, key if isinstance(key, int) else 0, now)
        if not isinstance(key, int) or (table not in _LABELS and table not in _BETWEEN):
            raise StoreCorrupt(f"{damaged.place} cannot be mended in a graph.", hint="Restore a backup with --replace.")
        was = ", ".join(f"{column} was {shown(row[column])}" for column in wrong)
        said.append(f"{name}: {was} ({table}); " + ("it was dropped." if values is None else "it was replaced."))
        _write(tx, table, key, values if table != "supersession" else {**row, **(values or {})})
        if table in _ITEMS and (is_own_id(name, "mem") or is_own_id(name, "ent")):
            ids.append(name)
    return Mended(said, tuple(ids))


def _write(tx: Transaction, table: str, key: int, values: Row | None) -> None:
    if table == "relation":
        for kind in _EDGES:
            if values is None:
                tx.do(care_cypher.DROP_EDGE[kind], [{"set": {"key": key}}])
            else:
                tx.do(care_cypher.change_edge(kind), [{"key": key, "set": _properties(table, values)}])
        return
    if table == "supersession":
        for label in _LABELS["memory"]:
            tx.do(care_cypher.of(care_cypher.SET_LINK, begin=label), [values])
        return
    at = {"ref": str(key)}
    for label in _LABELS[table]:
        if values is None:
            tx.do(care_cypher.drop_node(label, ("ref",)), [{"at": at}])
        else:
            tx.do(care_cypher.change_node(label, label, ("ref",)), [{"at": at, "set": _properties(table, values)}])


def _properties(table: str, values: Row) -> Row:
    it, made = TABLES[table], {}
    for name, column in it.columns.items():
        if (kept := it.in_file(name)) in values:
            value, as_property = values[kept], column.as_property
            made[it.in_node(name)] = value if as_property is None or value is None else as_property(value)
    return made
