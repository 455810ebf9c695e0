"""Looking after one graph: examine, repair, compact, copy.

Vectors of another model are staged beside the current ones, and take their place in one transaction.

What must hold in a workspace is written once, as checks on a workspace file; so the graph is examined as
the file that a backup of it would be.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from memsweep.errors import StoreCorrupt
from memsweep.model.care import Compaction, Finding, Seal
from memsweep.model.ids import is_own_id
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel, model_text
from memsweep.store.audit_rows import log
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.falkor import care_cypher, copying, cypher, reading, structure
from memsweep.store.falkor.care_cypher import of
from memsweep.store.falkor.reading import Extent, GraphReader, Row, extent
from memsweep.store.falkor.rows import FalkorRows, nodes_of
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.words import sought_by, terms_of
from memsweep.store.file import content, health, portable
from memsweep.store.file.connect import immediate, plain_errors, snapshot
from memsweep.store.file.health import CHANGES_VECTORS, Mended, repaired
from memsweep.store.file.values import damage_at, mended, misfits, shown
from memsweep.store.protocol import Embed
from memsweep.store.things.every import TABLES
from memsweep.store.things.graph import RELATION
from memsweep.store.things.memories import CHUNK, VectorRow

# Nodes that have no key of their own are known by these.
_NAMED_BY = {it.label: it.known_by for it in TABLES.values() if it.label and it.known_by not in (("ref",), ("key",))}
_KEPT = {"AuditEvent"}
Identity = tuple[Any, ...]
Named = dict[tuple[str, Identity], tuple[str, Row]]
"""Nodes with their labels, by what they are known by."""


class GraphParts(NamedTuple):
    """A whole graph: its nodes, and its edges with their labels by kind and content."""

    nodes: Named
    edges: dict[tuple[str, str], tuple[str, tuple[str, ...], Row]]


def mend(tx: Transaction, cure: str, actor: str, now: datetime) -> tuple[str, ...]:
    """The ids of the memories and entities that are not as they were."""
    roots = reading.RootNumbers()
    rows = reading.dump(tx, roots)
    paths = {number: path for path, number in roots.items()}  # a folder that is known by a path is mended under it
    with (
        tempfile.TemporaryDirectory(prefix="memsweep-") as folder,
        portable.file_of(Path(folder) / "workspace.db", rows) as db,
        immediate(db),
    ):
        was = _parts(db, paths)
        ids = health.mend(db, cure, (), actor, now).ids
        write_difference(tx, was, _parts(db, paths))
    return ids


def _parts(db: apsw.Connection, roots: Mapping[int, str]) -> GraphParts:
    found = GraphParts({}, {})
    for kind, labels, row in copying.parts(db, roots):
        family = labels[0].removeprefix("Trashed")
        if kind:
            found.edges[kind, repr(row)] = kind, labels, row
        elif family not in _KEPT:
            names = _NAMED_BY.get(family, ("key",))
            found.nodes[family, tuple(row[name] for name in names)] = labels[0], row
    return found


def write_difference(tx: Transaction, was: GraphParts, will_be: GraphParts) -> None:
    """Nodes get their labels first, then edges go and come; what leaves has lost its edges by then."""
    had, wanted = was.nodes, will_be.nodes
    _change_nodes(tx, had, wanted)
    _do(tx, ((copying.added("", wanted[key][:1]), wanted[key][1]) for key in wanted.keys() - had.keys()))
    _change_edges(tx, was, will_be)
    gone = [key for key in had if key not in wanted]
    _do(tx, ((care_cypher.drop_node(had[key][0], _names(key[0])), {"at": _at(*key)}) for key in gone))


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


def _change_edges(tx: Transaction, was: GraphParts, will_be: GraphParts) -> None:
    """An edge whose ends only changed their labels stays."""
    had, wanted = was.edges, will_be.edges

    def label_now(kind: str, labels: tuple[str, ...], row: Row) -> str:
        """Of the node that an edge leads to, while edges are dropped."""
        names = {"HAS_CHUNK": "key", "MENTIONS": "entity", "SUPERSEDES": "old"}
        key = (labels[1].removeprefix("Trashed"), (row.get(names.get(kind, ""), 0),))
        return will_be.nodes.get(key, was.nodes.get(key, (labels[1], {})))[0]

    dropped = (had[key] for key in had.keys() - wanted.keys())
    _do(tx, ((of(care_cypher.DROP_EDGE[edge[0]], end=label_now(*edge)), edge[2]) for edge in dropped))
    made = (wanted[key] for key in wanted.keys() - had.keys())
    _do(tx, ((copying.added(kind, labels), row) for kind, labels, row in made))


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


# Properties that cannot be right are mended by the rules that workspace files have.
# Where the rows of a table are; the trash has labels of its own.
_LABELS_OF = {it.table: it.labels("any") for it in TABLES.values() if it.numbered_by == "key" or it.table == "vector"}
_LABELS_OF["code_file"] = _LABELS_OF["memory"]
_DERIVED = {"memory_tag", "segment_link"}
"""Rows that a graph keeps as a property of another one."""
_ITEMS = {"memory", "chunk", "entity"}
_BETWEEN = {"relation", "supersession"}
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


def damaged_properties(asked: GraphHandle | Transaction) -> Iterator[DamagedProperty]:
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


def mend_values(tx: Transaction, now: int) -> Mended:
    """Set what is right, or the best that can be made of it, in every damaged node or edge."""
    said, ids = [], []
    for damaged in damaged_properties(tx):
        table, row, wrong, name = damaged
        key = row.get(_KEYS.get(table, "id"))
        values = mended(table, row, wrong, key if isinstance(key, int) else 0, now)
        if not isinstance(key, int) or (table not in _LABELS_OF and table not in _BETWEEN):
            raise StoreCorrupt(f"{damaged.place} cannot be mended in a graph.", hint="Restore a backup with --replace.")
        was = ", ".join(f"{column} was {shown(row[column])}" for column in wrong)
        said.append(f"{name}: {was} ({table}); " + ("it was dropped." if values is None else "it was replaced."))
        _write_values(tx, table, key, values if table != "supersession" else {**row, **(values or {})})
        if table in _ITEMS and (is_own_id(name, "mem") or is_own_id(name, "ent")):
            ids.append(name)
    return Mended(said, tuple(ids))


def _write_values(tx: Transaction, table: str, key: int, values: Row | None) -> None:
    if table == "relation":
        for kind in RELATION.labels("any"):
            if values is None:
                tx.do(care_cypher.DROP_EDGE[kind], [{"set": {"key": key}}])
            else:
                tx.do(care_cypher.change_edge(kind), [{"key": key, "set": _properties(table, values)}])
        return
    if table == "supersession":
        for label in _LABELS_OF["memory"]:
            tx.do(care_cypher.of(care_cypher.SET_LINK, begin=label), [values])
        return
    at = {"ref": str(key)}
    for label in _LABELS_OF[table]:
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


_ATTEMPTS = 5


def save(graph: GraphHandle, path: Path, progress: CopyProgress) -> portable.PortableFile:
    """A file with all that is in the graph. If somebody always writes meanwhile, they have to wait at last."""
    draft = portable.PortableFile(path)
    try:
        said = draft.marks()
        if said and said != {**said, **_moment(graph, graph.name)}:
            progress.notes.append("The source has changed since its copy was interrupted, so that was begun anew.")
        elif said.get("done"):
            progress.notes.append(f"{said['done']:,} rows had been read before.")
        for _ in range(_ATTEMPTS):
            if _fill(graph, graph, draft, progress):
                return draft
        with graph.writing() as tx:
            _fill(graph, tx, draft, progress)
        return draft
    except BaseException:
        draft.close()
        raise


def _fill(
    graph: GraphHandle, asked: GraphHandle | Transaction, draft: portable.PortableFile, progress: CopyProgress
) -> bool:
    """Read from where the draft ends; False if somebody wrote meanwhile."""
    moment = _moment(asked, graph.name)
    marks = draft.marks()
    if any(marks.get(name) != value for name, value in moment.items()):
        if marks:
            draft.clear()
        draft.append((), **moment, place=0, done=0)
        marks = draft.marks()
    whole, reader = extent(asked), GraphReader(asked)
    place, done = marks["place"], marks["done"]
    progress.enter(1, whole.rows, done)
    while place < whole.end:
        page = reader.page(whole, place)
        if page.revision != moment["revision"]:
            return False
        place = page.next_place
        counted = sum(table not in portable.DERIVED for table, _ in page.rows)
        done += counted
        draft.append(page.rows, place=place, done=done)
        progress.did(counted)
    _require(draft, whole, graph.name)
    draft.finish()
    return True


def _moment(asked: GraphHandle | Transaction, name: str) -> dict[str, str | int]:
    """Return the graph, and its state."""
    ((revision,),) = asked.ask(cypher.REVISION)
    return {"graph": name, "revision": revision}


def _require(draft: portable.PortableFile, whole: Extent, name: str) -> None:
    if (found := portable.count(draft.db)) != whole.rows:
        raise StoreCorrupt(
            f"{found:,} rows of {name} were read instead of {whole.rows:,}.", hint="Run `memsweep doctor`."
        )


_OF_FILES = {"structure_changed", "index_damaged", "page_lost"}
"""What the file that is made for looking may have, and the graph has not."""


class FalkorReembedding:
    """The half of `memsweep.store.protocol.Keeper` that embeds by another model."""

    def __init__(self, graph: GraphHandle, vectors: VectorSet) -> None:
        self._graph, self._vectors = graph, vectors

    def unstaged(self, model: EmbeddingModel, limit: int) -> list[tuple[int, str]]:
        self._begin(model)
        with self._graph.writing() as tx:
            return _unstaged(tx, limit)

    def stage(self, vectors: Iterable[tuple[int, bytes]], model: EmbeddingModel) -> None:
        self._begin(model)
        with self._graph.writing() as tx:
            _stage(tx, vectors)

    def switch(self, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
        self._begin(model)
        before = self._graph.meta()["generation"]
        with self._vectors.writing() as tx:
            missing = _switch(tx, model, embed, at_most)
        if missing == 0:
            self._vectors.close(before)
        return missing

    def _begin(self, model: EmbeddingModel) -> None:
        """A stage that was begun with this model goes on; one of another model is thrown away."""
        label = f"{model.name} {model.dimension}"
        if self._graph.meta().get("staged_model") != label:
            with self._graph.writing() as tx:
                tx.do(cypher.DROP_STAGED, [0])
                tx.set_meta(staged_model=label)


def _unstaged(tx: Transaction, limit: int) -> list[tuple[int, str]]:
    rows = tx.ask_all(*((cypher.unstaged(label), {"limit": limit}) for label in CHUNK.labels("any")))
    return sorted((key, text) for found in rows for key, text in found)[:limit]


def _stage(tx: Transaction, vectors: Iterable[tuple[int, bytes]]) -> None:
    tx.do(cypher.STAGE, nodes_of([VectorRow(*each) for each in vectors]))


def _switch(tx: Transaction, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
    """Take the staged vectors once every chunk has one; how many have none if they are too many to add them now."""
    missing = sum(
        found[0][0] for found in tx.ask_all(*((cypher.count_unstaged(label), {}) for label in CHUNK.labels("any")))
    )
    if missing > at_most:
        return int(missing)
    if rest := _unstaged(tx, missing) if missing else []:
        _stage(tx, zip((key for key, _ in rest), embed([text for _, text in rest]), strict=True))
    tx.do(cypher.DROP_EMBEDDINGS, [0])
    tx.do(cypher.TAKE_STAGED, [0])
    tx.set_meta(generation=tx.meta["generation"] + 1, staged_model=None)
    tx.set_meta(model=model_text(model))
    return 0


class FalkorKeeper(FalkorReembedding):
    """Implements `memsweep.store.protocol.Keeper`."""

    def __init__(self, workspace_id: str, graph: GraphHandle, vectors: VectorSet) -> None:
        super().__init__(graph, vectors)
        self._workspace_id = workspace_id

    def examine(self) -> list[Finding]:
        if damaged := [each.place for each in damaged_properties(self._graph)]:
            return health.finding("value_damaged", damaged)
        try:
            with self._as_file() as db:
                found = health.examine(db, values_are_sound=True)
        except (apsw.ConstraintError, KeyError, TypeError, ValueError) as error:
            return [Finding("file_damaged", 1, (f"{self._graph.name}: {error}",))]
        found = [each for each in found if each.invariant not in _OF_FILES]
        found += health.finding("structure_changed", structure.missing(self._graph))
        found += health.finding("words_differ", [uid for _, uid, _ in differing_words(self._graph)])
        # What a writer that died after its transaction left behind is not astray: the next one catches up.
        if self._vectors.astray(self._graph.meta()["generation"]):
            found += health.finding("vector_file_differs", [f"the vector set of {self._graph.name}"])
        return found

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> list[str]:
        """Apply one cure. What is no part of the graph itself is made again from it."""
        if cure in CHANGES_VECTORS:
            self._vectors.forget(self._graph.meta()["generation"])
        if cure == "structure":
            structure.make(self._graph)
        with self._graph.writing(afterwards=lambda meta: self._vectors.catch_up(meta["generation"])) as tx:
            lost, ids = mend_values(tx, to_micros(now)) if cure == "values" else ([], ())
            if cure == "words":
                mend_words(tx)
            elif cure not in {"structure", "vector_files", "values"}:
                ids = mend(tx, cure, actor, now)
            log(FalkorRows(tx), repaired(cure, found, actor, now, ids))
        return lost

    def explain(self) -> StoreCorrupt | None:
        return damage_at(f"the graph {self._graph.name}", [each.place for each in damaged_properties(self._graph)])

    def compact(self) -> Compaction:
        """The server gives back what it can; there is no file of ours to shrink."""
        before = self._size_bytes()
        self._graph.link.at_node_of(self._graph.name, "MEMORY", "PURGE")
        return Compaction(before, self._size_bytes(), True)

    def copy(self, draft: Path, named: Path, version: str, now: datetime, progress: CopyProgress | None = None) -> Seal:
        progress = progress or CopyProgress()
        with _folder(progress) as folder, plain_errors(named):
            rows = save(self._graph, folder / "rows.db", progress)
            with contextlib.closing(rows), snapshot(rows.db):
                return content.copy(rows.db, draft, version, now)

    @contextmanager
    def _as_file(self) -> Iterator[apsw.Connection]:
        with (
            _folder(CopyProgress()) as folder,
            contextlib.closing(save(self._graph, folder / "rows.db", CopyProgress())) as rows,
        ):
            yield rows.unmark()

    def _size_bytes(self) -> int:
        return self._graph.size_bytes() + self._vectors.size_bytes(self._graph.meta()["generation"])


@contextmanager
def _folder(progress: CopyProgress) -> Iterator[Path]:
    if progress.folder is not None:
        yield progress.folder
        return
    with tempfile.TemporaryDirectory(prefix="memsweep-") as name:
        yield Path(name)
