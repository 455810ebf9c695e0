"""The prompts of a client, and the resources that it reads: workspaces, numbers, history, receipts, entities."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any
from urllib.parse import unquote

from mcp.server.apps import APP_MIME_TYPE, Apps
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resources import FunctionResource
from pydantic import Field

from memsweep import deadline
from memsweep.app import App
from memsweep.errors import MemsweepError
from memsweep.model.paging import offset_of
from memsweep.model.visible import visible, visible_in
from memsweep.report import Answer
from memsweep.report import collector as report
from memsweep.report import graph as graph_report
from memsweep.report import memory as memory_report
from memsweep.report.collector import why

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

        def shown() -> Answer:
            return graph_report.neighbourhood(app.memory(workspace_id).graph.related(unquote(entity)))

        return _as_json(shown)

    @server.resource("memsweep://{workspace_id}/plans/{plan_id}", name="plan", mime_type=_JSON)
    def plan(workspace_id: str, plan_id: str) -> str:
        """A saved plan with its first items."""

        def shown() -> Answer:
            memory = app.memory(workspace_id)
            return report.planned(memory.sweep.get_plan(plan_id), memory.sweep.items(plan_id, limit=_SHOWN), why, None)

        return _as_json(shown)

    @server.resource("memsweep://{workspace_id}/trash", name="trash", mime_type=_JSON)
    def trash(workspace_id: str) -> str:
        """List what is in the trash, with the receipts that bring it back."""

        def shown() -> Answer:
            return report.trashed(app.trash(workspace_id, limit=_SHOWN), app.settings.gc.purge_days, None)

        return _as_json(shown)


def _as_json(read: Callable[[], Any]) -> str:
    """As JSON; an error has the same form, with one clear sentence."""
    try:
        with deadline.at_most(deadline.CALL_SECONDS):
            return json.dumps(visible_in(read()), ensure_ascii=False)
    except MemsweepError as error:
        return json.dumps({"error": visible(str(error))}, ensure_ascii=False)


# Commands for a person in the client (`/mcp__memsweep__brief_me`): they show how the tools work together.

About = Annotated[str, Field(description="a person, a project, a file, a decision, …")]


def brief_me() -> str:
    """Show what is known about this project: recent memories, facts, contradictions, what is stale"""
    return (
        "Call the tool briefing. Tell me in a few sentences what is known about this project and what was decided"
        " recently, then the open contradictions and what is stale, with what you would do about it. Change nothing."
    )


def what_do_you_know(about: About) -> str:
    """Everything that is remembered about something"""
    return (
        f"What do you know about this: {visible(about)}\n\nCall search_memory for it, in other words too, and"
        " graph_query for the names in it, if that tool is available. Tell me what is known, since when and from where,"
        " and what is contradictory or out of date. Name the memory_id of each statement. If nothing is known, say so."
    )


def clean_up() -> str:
    """Find garbage, look at it together, collect it; everything can be undone"""
    return (
        "Clean up this memory. Call prune_memory with strategy=all, and with strategy=duplicates, as a dry run, and"
        " show me what would go and why, by kind, with a few examples of each. Ask me. Only after I have agreed, apply"
        " exactly the plans that I agreed to, by their plan_id with dry_run=false and confirm=true, and tell me the"
        " receipt_id of each, with which undo brings everything back."
    )


def forget(what: About) -> str:
    """Find what is remembered about something, and remove what you agree to"""
    return (
        f"Forget this: {visible(what)}\n\nCall search_memory for it, in other words too, and list every memory about it"
        " with its memory_id and text. Ask me which ones to remove. Only after I have agreed, call delete_memory with"
        " confirm=true for each of these and no others, and tell me the receipt_id of each, with which undo brings it"
        " back."
    )


PROMPTS: dict[Callable[..., str], str] = {
    brief_me: "briefing",
    what_do_you_know: "search_memory",
    clean_up: "prune_memory",
    forget: "delete_memory",
}
"""Each with the tool that it cannot do without."""


def add_prompts(server: MCPServer[Any], tools: Collection[str]) -> None:
    """Add the prompts whose tools this server offers."""
    for prompt, tool in PROMPTS.items():
        if tool in tools:
            server.prompt()(prompt)


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
