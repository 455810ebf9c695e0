"""Choose the tools of a token: a server of the SDK for each kind of token; and count what they do."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, CallToolResult

from memsweep import __version__
from memsweep.app import App
from memsweep.model.token import Token
from memsweep.operation import granted_by
from memsweep.server.app import assemble, tool_rows
from memsweep.server.pipes import PipedServer
from memsweep.server.start import Profile
from memsweep.server.tool import token_of

if TYPE_CHECKING:
    from memsweep.server.tools import ToolRow


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the histogram."""

Labels = tuple[tuple[str, str], ...]


class Meter:
    """Counted in the event loop alone."""

    def __init__(self) -> None:
        self._started_at = time.time()
        self._requests: Counter[Labels] = Counter()
        self._tools: Counter[Labels] = Counter()
        self._took: Counter[float] = Counter()
        self._seconds = 0.0
        self.in_progress = 0

    def request(self, method: str, status: int, seconds: float | None) -> None:
        """`seconds`: how long it took; None for a stream, which lasts as long as its client likes."""
        known = method if method in ("GET", "POST", "DELETE") else "other"
        self._requests[(("method", known), ("status", str(status)))] += 1
        if seconds is not None:
            self._took[next((end for end in SECONDS if seconds <= end), float("inf"))] += 1
            self._seconds += seconds

    def tool(self, name: str, outcome: str) -> None:
        self._tools[(("tool", name), ("outcome", outcome))] += 1

    def text(self) -> str:
        families = (
            _family("memsweep_build_info", "gauge", "The version.", {(("version", __version__),): 1}),
            _family("memsweep_start_time_seconds", "gauge", "When it was started.", {(): self._started_at}),
            _family("memsweep_http_requests_in_progress", "gauge", "Being answered now.", {(): self.in_progress}),
            _family("memsweep_http_requests_total", "counter", "Answered, by method and status.", self._requests),
            _family("memsweep_tool_calls_total", "counter", "Calls of tools, by outcome.", self._tools),
            self._histogram(),
        )
        return "".join(f"{line}\n" for family in families for line in family)

    def _histogram(self) -> Iterator[str]:
        name = "memsweep_http_request_seconds"
        yield from _head(name, "histogram", "How long an answer took, streams left out.")
        total = 0
        for end in (*SECONDS, float("inf")):
            total += self._took[end]
            yield f'{name}_bucket{{le="{"+Inf" if end == float("inf") else f"{end:g}"}"}} {total}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {total}"


def _family(name: str, kind: str, about: str, values: Mapping[Labels, float]) -> Iterator[str]:
    yield from _head(name, kind, about)
    for labels, value in sorted(values.items()):
        shown = ",".join(f'{key}="{said}"' for key, said in labels)
        yield f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"


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
