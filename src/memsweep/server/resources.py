"""The resources that a client reads without a tool: workspaces, with their numbers, history, receipts and entities."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from mcp.server.mcpserver import MCPServer

from memsweep import deadline
from memsweep.app import App
from memsweep.errors import MemsweepError
from memsweep.model.visible import visible, visible_in
from memsweep.report import collector as report
from memsweep.report import graph as graph_report
from memsweep.report import memory as memory_report
from memsweep.report.reasons import why

_SHOWN = 100
_LOOKED_THROUGH = 1000
_JSON = "application/json"


def add_resources(server: MCPServer[Any], app: App) -> None:
    @server.resource("memsweep://workspaces", name="workspaces", mime_type=_JSON)
    def workspaces() -> str:
        """All workspaces."""
        return _as_json(lambda: [{"id": each.id, "description": each.description} for each in app.workspaces()])

    @server.resource("memsweep://{workspace_id}/audit", name="audit", mime_type=_JSON)
    def audit(workspace_id: str) -> str:
        """List who planned, removed, brought back, purged, pinned or merged what, when and why; newest first."""
        return _as_json(lambda: report.audited(app.memory(workspace_id).sweep.audit(limit=_SHOWN)))

    @server.resource("memsweep://{workspace_id}/stats", name="stats", mime_type=_JSON)
    def stats(workspace_id: str) -> str:
        """Counts and sizes of a workspace."""
        return _as_json(lambda: memory_report.stats(app.memory(workspace_id).stats()))

    @server.resource("memsweep://{workspace_id}/receipts", name="receipts", mime_type=_JSON)
    def receipts(workspace_id: str) -> str:
        """List what was removed or changed and how to undo it: receipts, newest first."""

        def shown() -> list[Any]:
            events = report.audited(app.memory(workspace_id).sweep.audit(limit=_LOOKED_THROUGH))["events"]
            return [each for each in events if str(each["subject"]).startswith("rcpt_")][:_SHOWN]

        return _as_json(shown)

    @server.resource("memsweep://{workspace_id}/graph/{entity}", name="graph", mime_type=_JSON)
    def graph(workspace_id: str, entity: str) -> str:
        """Show what is known about an entity: facts that hold now, and what is next to it."""

        def shown() -> graph_report.RelatedAnswer:
            found = app.memory(workspace_id).graph.related(unquote(entity))
            return graph_report.neighbourhood(
                found.start, found.entities, found.walk.distance, found.walk.edges, found.facts, found.contradictions
            )

        return _as_json(shown)

    @server.resource("memsweep://{workspace_id}/plans/{plan_id}", name="plan", mime_type=_JSON)
    def plan(workspace_id: str, plan_id: str) -> str:
        """A saved plan with its first items."""

        def shown() -> report.PruneAnswer:
            memory = app.memory(workspace_id)
            return report.planned(memory.sweep.get_plan(plan_id), memory.sweep.items(plan_id, limit=_SHOWN), why, None)

        return _as_json(shown)

    @server.resource("memsweep://{workspace_id}/trash", name="trash", mime_type=_JSON)
    def trash(workspace_id: str) -> str:
        """List what is in the trash, with the receipts that bring it back."""

        def shown() -> report.TrashAnswer:
            return report.trashed(app.trash(workspace_id, limit=_SHOWN), app.settings.gc.purge_days, None)

        return _as_json(shown)


def _as_json(read: Callable[[], Any]) -> str:
    """As JSON; an error has the same form, with one clear sentence."""
    try:
        with deadline.at_most(deadline.CALL_SECONDS):
            return json.dumps(visible_in(read()), ensure_ascii=False)
    except MemsweepError as error:
        return json.dumps({"error": visible(str(error))}, ensure_ascii=False)
