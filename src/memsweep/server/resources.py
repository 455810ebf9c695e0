"""What a client may read without a tool: the workspaces, and of each what was done, what was planned, what is in the
trash.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import MCPServer

from memsweep.app import App
from memsweep.errors import MemsweepError
from memsweep.report import collector as report
from memsweep.report.reasons import why

_SHOWN = 100
_JSON = "application/json"


def add_resources(server: MCPServer[Any], app: App) -> None:
    @server.resource("memsweep://workspaces", name="workspaces", mime_type=_JSON)
    def workspaces() -> str:
        """The workspaces there are."""
        return _as_json(lambda: [{"id": each.id, "description": each.description} for each in app.workspaces()])

    @server.resource("memsweep://{workspace_id}/audit", name="audit", mime_type=_JSON)
    def audit(workspace_id: str) -> str:
        """Who planned, removed, brought back, purged, pinned or merged what, when and why; newest first."""
        return _as_json(lambda: report.audited(app.memory(workspace_id).sweep.audit(limit=_SHOWN)))

    @server.resource("memsweep://{workspace_id}/plans/{plan_id}", name="plan", mime_type=_JSON)
    def plan(workspace_id: str, plan_id: str) -> str:
        """A saved plan with its first items."""

        def shown() -> report.PruneAnswer:
            memory = app.memory(workspace_id)
            return report.planned(memory.sweep.get_plan(plan_id), memory.sweep.items(plan_id, limit=_SHOWN), why, None)

        return _as_json(shown)

    @server.resource("memsweep://{workspace_id}/trash", name="trash", mime_type=_JSON)
    def trash(workspace_id: str) -> str:
        """What is in the trash, with the receipts that bring it back."""

        def shown() -> report.TrashAnswer:
            return report.trashed(app.trash(workspace_id, limit=_SHOWN), app.settings.gc.purge_days, None)

        return _as_json(shown)


def _as_json(read: Callable[[], Any]) -> str:
    """As JSON; an error has the same form, with one clear sentence."""
    try:
        return json.dumps(read(), ensure_ascii=False)
    except MemsweepError as error:
        return json.dumps({"error": str(error)}, ensure_ascii=False)
