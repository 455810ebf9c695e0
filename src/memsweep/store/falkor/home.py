"""Looking after all workspaces of a prefix: entries against graphs, and backups that become workspaces."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memsweep.errors import AlreadyExists, Conflict, StoreCorrupt
from memsweep.model.care import Finding, Restored
from memsweep.model.memory import Workspace
from memsweep.model.times import from_micros
from memsweep.store.drafts import plain_refusals
from memsweep.store.falkor import copying, cypher, rowing
from memsweep.store.falkor.auditing import audit
from memsweep.store.falkor.transaction import Graph
from memsweep.store.sqlite import copying as sealing
from memsweep.store.sqlite import portable
from memsweep.store.sqlite.connect import plain_errors
from memsweep.store.sqlite.health import finding

if TYPE_CHECKING:
    from memsweep.store.falkor.engine import FalkorEngine


class FalkorHomeKeeper:
    """Implements `memsweep.store.protocol.HomeKeeper`."""

    def __init__(self, engine: FalkorEngine) -> None:
        self._engine = engine

    def examine(self) -> list[Finding]:
        known = self._engine.graphs()
        missing = [f"{name} ({graph})" for name, graph in known.items() if not self._engine.has_graph(graph)]
        lost = [f"{name} ({graph})" for name, graph in self._lost()]
        return [*finding("file_missing", missing), *finding("workspace_lost", lost)]

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> None:
        """Give a lost graph its name again, if nobody has it."""
        for name, graph in self._lost() if cure == "adopt" else ():
            store = Graph(self._engine.link, graph)
            meta = store.meta()
            workspace = Workspace(name, meta["description"], from_micros(meta["created_at"]))
            if self._engine.enter(workspace, store):
                with store.writing() as tx:
                    audit(tx, now, actor, "repair", cure, {each.invariant: each.count for each in found}, "")

    def _lost(self) -> list[tuple[str, str]]:
        """Graphs with something in them that no entry leads to. One without may just be being made."""
        known = {*self._engine.graphs().values(), *(graph for _, graph, _ in self._engine.deleted())}
        strangers = [(name, graph) for name, graph in self._engine.all_graphs() if graph not in known]
        counted = ((name, graph, Graph(self._engine.link, graph)) for name, graph in strangers)
        return [(name, graph) for name, graph, store in counted if store.ask(cypher.COUNT_MEMORIES)[0][0]]

    def install(
        self, source: Path, workspace_id: str, *, replace: bool, receipt_id: str, actor: str, now: datetime
    ) -> Restored:
        """Make a workspace of a copy: it has no name until it is whole."""
        self._refuse_occupied(workspace_id, replace=replace)
        with tempfile.TemporaryDirectory(prefix="memsweep-") as folder:
            copy = Path(folder) / "copy"
            with plain_refusals(source):
                shutil.copyfile(source, copy)
            with plain_errors(source), sealing.private(copy) as db:
                seal = sealing.unseal(db, source)
                rows, said = portable.rows_of(db), portable.workspace_of(db)
        workspace = Workspace(workspace_id, said.get("description") or "", from_micros(said.get("created_at") or 0))
        graph = self._engine.new_graph(workspace)
        try:
            copying.load(graph, rows)
            _verify(graph, rows, source)
            with graph.writing() as tx:
                audit(tx, now, actor, "restore", str(source), {"memories": seal.memories}, seal.digest)
            old = self._put_aside(workspace_id, replace=replace, receipt_id=receipt_id, now=now)
            if not self._engine.enter(workspace, graph):
                raise Conflict(f"workspace {workspace_id!r} was made or deleted meanwhile.", hint="Try again.")
        except BaseException:
            self._engine.drop_graph(graph.name)
            raise
        return Restored(workspace_id, seal, receipt_id if old else None)

    def _refuse_occupied(self, workspace_id: str, *, replace: bool) -> bool:
        graph = self._engine.graphs().get(workspace_id)
        if graph is None:
            return False
        occupied = not self._engine.has_graph(graph) or Graph(self._engine.link, graph).meta()["keys"] > 0
        if occupied and not replace:
            raise AlreadyExists(
                f"workspace {workspace_id!r} exists and is not empty; nothing was changed.",
                hint="Restore into another workspace, or put this one aside with --replace.",
            )
        return True

    def _put_aside(self, workspace_id: str, *, replace: bool, receipt_id: str, now: datetime) -> bool:
        if not self._refuse_occupied(workspace_id, replace=replace):
            return False
        self._engine.delete(workspace_id, now, receipt_id)
        return True


def _verify(graph: Graph, rows: portable.Rows, source: Path) -> None:
    """What was written is read back and compared, table by table."""
    there = copying.dump(graph)
    for table, wanted in rows.items():
        if table != "meta" and _comparable(wanted) != _comparable(there.get(table, [])):
            raise StoreCorrupt(
                f"{table} of {source} did not arrive as it was sent; nothing was changed.", hint="Try again."
            )


def _comparable(rows: Sequence[rowing.Row]) -> list[str]:
    return sorted(repr(sorted(rowing.comparable(row).items())) for row in rows)
