"""Looking after all workspaces of a prefix: entries against graphs, and backups that become workspaces."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from memsweep.errors import Conflict, StoreCorrupt
from memsweep.model.audit import AuditEvent
from memsweep.model.care import Finding, Restored, RestoreRequest
from memsweep.model.memory import Workspace
from memsweep.model.times import from_micros
from memsweep.store.audit_rows import log
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.falkor import copying, cypher
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.file import foreign, portable
from memsweep.store.file.connect import connected, make_file, plain_errors
from memsweep.store.file.health import finding
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.refusals import workspace_changed, workspace_occupied
from memsweep.store.things.registry import WorkspaceRow
from memsweep.store.workspaces import deleted, hidden, named, row_of

_MORE_LOOKS = 2

if TYPE_CHECKING:
    from memsweep.store.falkor.engine import FalkorEngine


class FalkorHomeKeeper:
    """Implements `memsweep.store.protocol.HomeKeeper`."""

    def __init__(self, engine: FalkorEngine) -> None:
        self._engine = engine

    def examine(self) -> list[Finding]:
        """Return what is wrong at every look: others make, delete and restore workspaces meanwhile."""
        self._engine.finish_abandoned()
        missing, lost = self._missing(), self._lost()
        for _ in range(_MORE_LOOKS if missing or lost else 0):
            missing = [each for each in self._missing() if each in missing]
            lost = [each for each in self._lost() if each in lost]
        shown = [[f"{name} ({graph})" for name, graph in found] for found in (missing, lost)]
        return [*finding("file_missing", shown[0]), *finding("workspace_lost", shown[1])]

    def _missing(self) -> list[tuple[str, str]]:
        """Workspaces whose graph is not there."""
        return [(name, graph) for name, graph in self._engine.graphs().items() if not self._engine.has_graph(graph)]

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> list[str]:
        """Give a lost graph its name again, if nobody has it."""
        if cure == "salvage":
            raise StoreCorrupt("a graph that cannot be read cannot be mended.", hint="Restore a backup with --replace.")
        for name, graph in self._lost() if cure == "adopt" else ():
            store = GraphHandle(self._engine.link, graph)
            meta = store.meta()
            workspace = Workspace(name, meta["description"], from_micros(meta["created_at"]))
            if self._engine.change((None, row_of(workspace, graph))):
                with store.writing() as tx:
                    counts = {each.invariant: each.count for each in found}
                    log(FalkorRows(tx), AuditEvent(now, actor, "repair", cure, counts))
        return []

    def _lost(self) -> list[tuple[str, str]]:
        """Graphs with something in them that no entry leads to. One without may just be being made."""
        known = {*self._engine.graphs().values(), *(graph for _, graph, _ in self._engine.deleted())}
        strangers = [(name, graph) for name, graph in self._engine.all_graphs() if graph not in known]
        counted = ((name, graph, GraphHandle(self._engine.link, graph)) for name, graph in strangers)
        return [(name, graph) for name, graph, store in counted if store.ask(cypher.COUNT_MEMORIES)[0][0]]

    def install(self, source: Path, request: RestoreRequest, progress: CopyProgress | None = None) -> Restored:
        """Make a workspace of a copy: it has no name until it is whole. What an interrupted one left is continued."""
        progress = progress or CopyProgress(passes=2)
        workspace_id, now = request.workspace_id, request.now
        self._refuse_occupied(request)
        with tempfile.TemporaryDirectory(prefix="memsweep-") as folder:
            file = Path(folder) / "rows.db"
            make_file(file)
            taken = foreign.take_in(source, file, file)
            with plain_errors(file), connected(file, WORKSPACE_MIGRATIONS) as db:
                said = portable.workspace_of(db)
                created_at = from_micros(said.get("created_at") or 0)
                workspace = Workspace(workspace_id, said.get("description") or "", created_at)
                graph = self._unfinished(workspace, f"{taken.rows}/{copying.layout()}", now, progress)
                if copying.load(graph, db, progress):
                    self._verify(graph, db, source, workspace_id, progress)
                    with graph.writing() as tx:
                        counts = {"memories": taken.seal.memories}
                        event = AuditEvent(now, request.actor, "restore", str(source), counts, taken.seal.digest)
                        log(FalkorRows(tx), event)
        try:
            self._refuse_occupied(request)
            old = self._engine.rows(WorkspaceRow, *named(workspace_id))
            gone = [(row, hidden(row, now, request.receipt_id)) for row in old]
            row = row_of(workspace, graph.name)._replace(project=old[0].project if old else "")
            event = deleted(workspace_id, request.receipt_id, request.actor, now)
            if not self._engine.change(*gone, (None, row), event=event):
                raise workspace_changed(workspace_id)
        except Conflict:
            self._engine.drop_unfinished(workspace_id, graph.name)
            raise
        return Restored(workspace_id, taken.seal, request.receipt_id if old else None, tuple(progress.notes))

    def _verify(
        self, graph: GraphHandle, db: apsw.Connection, source: Path, workspace_id: str, progress: CopyProgress
    ) -> None:
        try:
            copying.verify(graph, db, str(source), progress)
        except StoreCorrupt:
            self._engine.drop_unfinished(workspace_id, graph.name)
            raise

    def _unfinished(self, workspace: Workspace, source: str, now: datetime, progress: CopyProgress) -> GraphHandle:
        """The graph that an interrupted copy of the same rows has begun, or a new one."""
        for graph, copied in self._engine.unfinished(workspace.id):
            if copied == source and self._engine.has_graph(graph):
                found = GraphHandle(self._engine.link, graph)
                if batches := found.meta()["revision"]:
                    progress.notes.append(f"{batches:,} batches had been written before.")
                return found
            self._engine.drop_unfinished(workspace.id, graph)
            progress.notes.append("The source has changed since its copy was interrupted, so that was begun anew.")
        made = self._engine.new_graph(workspace, now)
        self._engine.note_unfinished(workspace, made, source, now)
        return made

    def _refuse_occupied(self, request: RestoreRequest) -> None:
        graph = self._engine.graphs().get(request.workspace_id)
        if graph is None:
            return
        occupied = not self._engine.has_graph(graph) or GraphHandle(self._engine.link, graph).meta()["keys"] > 0
        if occupied and not request.replace:
            raise workspace_occupied(request.workspace_id)
