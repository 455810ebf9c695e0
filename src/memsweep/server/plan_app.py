"""The review of a plan as an MCP App: one document for hosts that show them; text is what every other one gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.apps import APP_MIME_TYPE, Apps
from mcp.server.mcpserver.resources import FunctionResource

from memsweep.app import App
from memsweep.model.paging import offset_of

PLAN_URI = "ui://memsweep/plan.html"
HTML = "memsweep/html"
"""Where a result's `_meta` has the plan for a person; no model sees it."""

View = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""From the arguments and the answer of a tool; empty where there is nothing to look at."""


def plan_app() -> Apps:
    """The extension, with the document, which is made when the first host reads it."""
    apps = Apps()
    apps.add_resource(
        FunctionResource(
            uri=PLAN_URI,
            name="plan",
            description="Review of a plan, for hosts that show MCP Apps.",
            mime_type=APP_MIME_TYPE,
            meta={"ui": {"prefersBorder": True}},
            fn=_document,
        )
    )
    return apps


def view_of_plan(app: App) -> View:
    """Return a function that makes the view of a dry run's plan."""

    def view(arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
        plan_id = answer.get("plan_id", "")
        if not answer.get("dry_run") or not plan_id:
            return ""
        from memsweep.web.plan_view import plan_in_chat  # late: most clients never look

        memory = app.memory(arguments.get("workspace_id", ""))
        asked_for = arguments.get("plan_id")
        offset = offset_of(arguments.get("cursor"), plan_id) if asked_for == plan_id else 0
        return plan_in_chat(memory, plan_id, offset, app.clock())

    return view


def _document() -> str:
    from memsweep.web.plan_view import plan_document

    return plan_document()
