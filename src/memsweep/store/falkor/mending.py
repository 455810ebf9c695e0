"""Mending what the doctor found in a graph. Inside the caller's transaction.

How rows are mended is written once, for workspace files. So the graph is made a file, the file is mended, and what
is other in it then is changed in the graph.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memsweep.store.falkor import care_cypher, copying, node_codec, reading
from memsweep.store.falkor.care_cypher import of
from memsweep.store.falkor.row_codec import Row
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.words import sought_by, terms_of
from memsweep.store.file import mending as cures
from memsweep.store.file import portable
from memsweep.store.file.connect import immediate
from memsweep.store.things.every import TABLES

# Nodes that have no key of their own are known by these.
_NAMED_BY = {it.label: it.known_by for it in TABLES.values() if it.label and it.known_by not in (("ref",), ("key",))}
_KEPT = {"AuditEvent"}
Identity = tuple[Any, ...]
Named = dict[tuple[str, Identity], tuple[str, Row]]


def mend(tx: Transaction, cure: str, actor: str, now: datetime) -> tuple[str, ...]:
    """The ids of the memories and entities that are not as they were."""
    roots = reading.RootNumbers()
    before = reading.dump(tx, roots)
    paths = {number: path for path, number in roots.items()}
    with (
        tempfile.TemporaryDirectory(prefix="memsweep-") as folder,
        portable.file_of(Path(folder) / "workspace.db", before) as db,
        immediate(db),
    ):
        ids = cures.mend(db, cure, (), actor, now).ids
        after = portable.rows_of(db)
    write_difference(tx, before, after, paths)
    return ids


def write_difference(
    tx: Transaction, before: node_codec.Table, after: node_codec.Table, roots: Mapping[int, str]
) -> None:
    """Nodes get their labels first, then edges go and come; what leaves has lost its edges by then."""
    was, will_be = (_named(node_codec.nodes(rows, _with_all(rows, roots))) for rows in (before, after))
    _change_nodes(tx, was, will_be)
    _do(tx, ((of(care_cypher.ADD_NODE, label=will_be[key][0]), will_be[key][1]) for key in will_be.keys() - was.keys()))
    _change_edges(tx, list(node_codec.edges(before)), list(node_codec.edges(after)), was, will_be)
    gone = [key for key in was if key not in will_be]
    _do(tx, ((care_cypher.drop_node(was[key][0], _names(key[0])), {"at": _at(*key)}) for key in gone))


def _with_all(rows: node_codec.Table, roots: Mapping[int, str]) -> dict[int, str]:
    """The folder that is known by a path is mended under that path."""
    return {row["id"]: row["path"] for row in rows["code_root"]} | dict(roots)


def _named(nodes: Mapping[str, Iterable[Row]]) -> Named:
    named: Named = {}
    for label, listed in nodes.items():
        family = label.removeprefix("Trashed")
        if family not in _KEPT:
            names = _NAMED_BY.get(family, ("key",))
            named |= {(family, tuple(node[name] for name in names)): (label, node) for node in listed}
    return named


def _names(family: str) -> tuple[str, ...]:
    return _NAMED_BY.get(family, ("ref",))


def _at(family: str, identity: Identity) -> Row:
    values = identity if family in _NAMED_BY else (str(identity[0]),)
    return dict(zip(_names(family), values, strict=True))


def _change_nodes(tx: Transaction, was: Named, will_be: Named) -> None:
    steps = []
    for key in was.keys() & will_be.keys():
        (label, node), (becomes, wanted) = was[key], will_be[key]
        changed = {name: wanted.get(name) for name in {*node, *wanted} if node.get(name) != wanted.get(name)}
        if changed and key[0] != "MergeMove":
            steps.append((care_cypher.change_node(label, becomes, _names(key[0])), {"at": _at(*key), "set": changed}))
    _do(tx, steps)


def _change_edges(
    tx: Transaction,
    before: Iterable[node_codec.NewEdge],
    after: Iterable[node_codec.NewEdge],
    was: Named,
    will_be: Named,
) -> None:
    """An edge whose ends only changed their labels stays."""
    had, wanted = _by_content(before), _by_content(after)

    def label_now(edge: node_codec.NewEdge) -> str:
        """Of the node that an edge leads to, while edges are dropped."""
        family = edge.labels[1].removeprefix("Trashed")
        names = {"HAS_CHUNK": "key", "MENTIONS": "entity", "SUPERSEDES": "old"}
        key = (family, (edge.row.get(names.get(edge.kind, ""), 0),))
        return will_be.get(key, was.get(key, (edge.labels[1], {})))[0]

    dropped = (had[key] for key in had.keys() - wanted.keys())
    _do(tx, ((of(care_cypher.DROP_EDGE[edge.kind], end=label_now(edge)), edge.row) for edge in dropped))
    _do(tx, ((copying.added(wanted[key]), wanted[key].row) for key in wanted.keys() - had.keys()))


def _by_content(edges: Iterable[node_codec.NewEdge]) -> dict[tuple[str, str], node_codec.NewEdge]:
    return {(edge.kind, repr(edge.row)): edge for edge in edges}


def _do(tx: Transaction, steps: Iterable[tuple[str, Row]]) -> None:
    groups: dict[str, list[Row]] = defaultdict(list)
    for step, row in steps:
        groups[step].append(row)
    for step, rows in sorted(groups.items()):
        tx.do(step, rows)


def differing_words(asked: GraphHandle | Transaction) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Live chunks whose words in the full text are not those of their text: key, id, and what they should be."""
    for key, uid, text, words, *known in asked.ask(care_cypher.TERMS):
        wanted = sought_by(terms_of(text, words))
        if [*wanted.values()] != known:
            yield key, uid, wanted


def mend_words(tx: Transaction) -> None:
    tx.do(care_cypher.SET_TERMS, [{"key": key, "set": wanted} for key, _, wanted in differing_words(tx)])
