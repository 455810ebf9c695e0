"""The MCP server: tools of one profile, over standard input and output; `server.http` serves the same over HTTP.

`initialize` is answered before disk or models are touched (`front`); they are loaded in the background once the
client has asked what tools there are. stdout belongs to the protocol, the log goes to stderr.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_types import ToolAnnotations

from memsweep import __version__
from memsweep.app import App
from memsweep.clock import new_id
from memsweep.hooks.answering import HookListener
from memsweep.schedule.background import Background
from memsweep.server.consent import gated
from memsweep.server.front import Front
from memsweep.server.instructions import INSTRUCTIONS
from memsweep.server.pipes import PipedServer
from memsweep.server.plan_app import PLAN_URI, plan_app
from memsweep.server.profiles import Profile, offers
from memsweep.server.prompts import add_prompts
from memsweep.server.resources import add_resources
from memsweep.server.roots import find_project
from memsweep.server.tool import MemsweepTool
from memsweep.server.tools import ToolRow
from memsweep.server.tools.code import code_tools
from memsweep.server.tools.collector import collector_tools
from memsweep.server.tools.context import context_tools
from memsweep.server.tools.graph import graph_tools
from memsweep.server.tools.graph_overview import graph_overview_tools
from memsweep.server.tools.graph_upkeep import graph_upkeep_tools
from memsweep.server.tools.memory import memory_tools
from memsweep.server.tools.workspaces import workspace_tools


def make_server(app: App, profile: Profile = "default", front: Front | None = None) -> PipedServer:
    """For one client over standard input and output."""
    server = assemble(app, profile, tool_rows(app, profile), front=front)
    server.middleware.append(find_project(app))
    return server


def assemble(
    app: App,
    profile: Profile,
    rows: Sequence[ToolRow],
    *,
    front: Front | None = None,
    withheld: Mapping[str, str] | None = None,
) -> PipedServer:
    """A server with these tools. `withheld`: why others are not offered, for who calls them all the same."""
    session = new_id("ses")
    server = PipedServer(
        "memsweep",
        version=__version__,
        instructions=INSTRUCTIONS,
        tools=[_tool(row, profile, session) for row in rows],
        log_level=app.settings.log_level,
        front=front,
        withheld=withheld,
        extensions=[plan_app()],
    )
    add_resources(server, app)
    add_prompts(server, {row.function.__name__ for row in rows})
    server.middleware.append(_warm_up_after_listing(app))
    return server


def tool_rows(app: App, profile: Profile) -> list[ToolRow]:
    features = [
        memory_tools,
        workspace_tools,
        code_tools,
        collector_tools,
        graph_tools,
        graph_upkeep_tools,
        graph_overview_tools,
        context_tools,
    ]
    rows = [row for tools in features for row in tools(app)]
    return [
        row
        for row in rows
        if offers(profile, row.function.__name__, in_default=row.profile == "default", reads=row.reads)
    ]


def serve(app: App, profile: Profile, front: Front) -> None:
    """Serve until the client hangs up, from where the front has come to."""
    logging.getLogger("memsweep").setLevel(app.settings.log_level)
    server = make_server(app, profile, front)
    background = Background(app)
    background.start()
    listener = HookListener(app)
    listener.start()
    gc.freeze()  # what was imported stays, and need not be looked through
    try:
        server.run("stdio")
    finally:
        listener.stop()
        background.stop()
        app.close()


def _tool(row: ToolRow, profile: Profile, session: str) -> MemsweepTool:
    annotations = ToolAnnotations(
        read_only_hint=row.reads,
        destructive_hint=None if row.reads else row.destroys,
        idempotent_hint=True if row.repeats else None,
        open_world_hint=False,
    )
    hidden = row.only_full if profile != "full" else ()
    # What a person is asked is bound to the app, and all else that the SDK looks at to the code of the function.
    likeness = None if row.asks else (row.function.__code__, hidden)
    function = gated(row.function, row.asks, hidden)
    return MemsweepTool.make(function, annotations, _meta(row), session, row.view, likeness)


def _meta(row: ToolRow) -> dict[str, Any] | None:
    meta: dict[str, Any] = {"anthropic/alwaysLoad": True} if row.always else {}
    if row.view is not None:
        meta["ui"] = {"resourceUri": PLAN_URI}
    elif row.destroys:
        meta["ui"] = {"visibility": ["model"]}
    return meta or None


def _warm_up_after_listing(app: App) -> Any:
    warming = threading.Event()

    async def middleware(context: Any, call_next: Any) -> Any:
        result = await call_next(context)
        if context.method == "tools/list" and not warming.is_set():
            warming.set()
            threading.Thread(target=app.warm_up, name="warm-up", daemon=True).start()
        return result

    return middleware
