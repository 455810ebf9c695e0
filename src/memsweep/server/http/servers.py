"""Choose the tools of a token: a server of the SDK for each kind of token, chosen by the request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, CallToolResult

from memsweep.app import App
from memsweep.caller import granted_by
from memsweep.model.token import Token
from memsweep.server.app import assemble, tool_rows
from memsweep.server.caller import token_of
from memsweep.server.http.meter import Meter
from memsweep.server.pipes import PipedServer
from memsweep.server.profiles import Profile

if TYPE_CHECKING:
    from memsweep.server.tools import ToolRow

Kind = Literal["whole", "bound", "read-only"]


def kind_of(token: Token, *, is_local: bool) -> Kind:
    """`bound`: without the tools that read files of the server's machine.

    They would lead out of the workspaces that a token is for, and who comes from another machine has no files here.
    """
    if token.read_only:
        return "read-only"
    return "whole" if is_local and not token.workspaces else "bound"


def make_servers(app: App, profile: Profile, meter: Meter) -> Mapping[Kind, PipedServer]:
    every = tool_rows(app, "full")
    rows = tool_rows(app, profile)
    offered: dict[Kind, tuple[Profile, list[ToolRow]]] = {
        "whole": (profile, rows),
        "bound": (profile, [row for row in rows if not row.files]),
        "read-only": ("read-only", tool_rows(app, "read-only")),
    }
    made: dict[Kind, PipedServer] = {}
    for kind, (chosen, some) in offered.items():
        made[kind] = assemble(app, chosen, some, withheld=_withheld(every, some))
        made[kind].middleware.append(bound_to_token(meter, {row.function.__name__ for row in every}))
    return made


def _withheld(every: Iterable[ToolRow], offered: Iterable[ToolRow]) -> dict[str, str]:
    """Why a tool that exists is not offered here, for the agent that calls it all the same."""
    known = {row.function.__name__ for row in offered}
    rest = {row.function.__name__: row for row in every if row.function.__name__ not in known}
    return {name: _why_not(row) for name, row in rest.items()}


def _why_not(row: ToolRow) -> str:
    name = row.function.__name__
    if row.files:
        return f"{name} reads files of the machine that this server runs on, and this token does not reach them."
    return f"{name} is not offered: this token only reads, or the server has another profile."


def bound_to_token(meter: Meter, tools: set[str]) -> Any:
    """Middleware of the SDK: a call goes as far as its token, and without one nowhere."""

    async def middleware(context: Any, call_next: Any) -> Any:
        token = token_of(context.request)
        if token is None:
            raise MCPError(INVALID_REQUEST, "this request came without a token.")
        with granted_by(token):
            result = await call_next(context)
        if context.method == "tools/call":
            name = str((context.params or {}).get("name"))
            meter.tool(name if name in tools else "unknown", _outcome(result))
        return result

    return middleware


def _outcome(result: Any) -> str:
    failed = result.is_error if isinstance(result, CallToolResult) else _is_error(result)
    return "error" if failed else "ok"


def _is_error(result: Any) -> bool:
    return isinstance(result, dict) and bool(result.get("isError"))
