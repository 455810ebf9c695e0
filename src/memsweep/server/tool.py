"""A tool as agents meet it: unknown arguments refused, one clear sentence for every failure, lean answers."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import anyio
import pydantic_core
from mcp.server.apps import client_supports_apps
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from memsweep import deadline
from memsweep.app import calling
from memsweep.errors import BadInput, MemsweepError, brief
from memsweep.model.checks import within_limits
from memsweep.model.origin import Origin
from memsweep.model.text import lone_surrogate
from memsweep.model.token import Token
from memsweep.model.visible import visible, visible_in
from memsweep.operation import bound_token
from memsweep.report.limits import MOST_BYTES, fitted
from memsweep.server.resources import HTML, View

# Writers wait for one another, by the lock of the store: however many there are, a reader finds a thread that is free.
READING = ThreadPoolExecutor(32, "reading")
WRITING = ThreadPoolExecutor(32, "writing")
WRITERS = 4  # of one workspace at a time, so that those of the others find a thread, too
logger = logging.getLogger("memsweep.server")
_SIZED_BY_THE_CALLER = {"context_restore", "context_working_set"}  # who names a budget of tokens


class MemsweepTool(Tool):
    """The SDK's tool with our schema, our errors and our way to write an answer."""

    own_session: str = ""
    """Of a connection that has no id, which is the only one of its server."""
    view: View | None = None

    @classmethod
    def make(
        cls,
        function: Callable[..., Any],
        annotations: ToolAnnotations,
        meta: dict[str, Any] | None = None,
        own_session: str = "",
        view: View | None = None,
        likeness: Hashable = None,
    ) -> MemsweepTool:
        """`likeness`: what tools of several apps and servers have in common, whose schema is then made once."""
        described = _known.get(likeness) or cls._describe(function)
        if likeness is not None and likeness not in _known:
            _known[likeness] = described.model_copy(update={"fn": _known.get})  # without the app behind the function
        call, is_async = function, described.is_async
        if not is_async:
            call, is_async = in_a_thread(function, READING if annotations.read_only_hint else WRITING), True
        own = {"annotations": annotations, "meta": meta, "own_session": own_session, "view": view}
        return described.model_copy(update={"fn": call, "is_async": is_async, **own})

    @classmethod
    def _describe(cls, function: Callable[..., Any]) -> MemsweepTool:
        """Name, arguments and description, for which the SDK needs a millisecond or two."""
        tool = cls.from_function(function, structured_output=False)
        tool.description = " ".join((function.__doc__ or "").split())
        tool.parameters = compact_input(tool.parameters)
        tool.fn_metadata.output_schema = OUTPUT
        return tool  # type: ignore[return-value]  # from_function makes an instance of cls

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        known = self.parameters["properties"]
        if unknown := [name for name in arguments if name not in known]:
            return _failure(f"unknown argument {unknown[0]!r:.60}; {self.name} takes {', '.join(known) or 'none'}.")
        if found := lone_surrogate(arguments):
            return _failure(f"{found.sentence} {found.hint}")
        try:
            for name, value in arguments.items():
                within_limits(name, value)
        except BadInput as error:
            return _failure(str(error))
        calling.set(caller_of(context, self.name, self.own_session))
        try:
            answer = await super().run(arguments, context, convert_result=False)
        except ToolError as error:
            return _failure(self._sentence(error.__cause__ or error))
        except MCPError as error:
            if not self.resolved_params:
                raise
            return _failure(f"the person could not be asked ({error}); nothing was changed.")
        if not isinstance(answer, dict):
            return answer
        looked_at = await self._looked_at(arguments, answer, context)
        answer = visible_in(answer)  # clients show a model the structured part as well
        raw = pydantic_core.to_json(answer)
        if len(raw) > MOST_BYTES and self.name not in _SIZED_BY_THE_CALLER:
            answer = visible_in(fitted(answer))
            raw = pydantic_core.to_json(answer)
        said = TextContent(type="text", text=raw.decode())
        return CallToolResult(content=[said], structured_content=answer, _meta=looked_at)

    async def _looked_at(
        self, arguments: dict[str, Any], answer: dict[str, Any], context: Context[Any, Any]
    ) -> dict[str, Any] | None:
        """The answer for a person, where the host shows it; it is not worth failing for."""
        if self.view is None or not client_supports_apps(context):
            return None
        try:
            html = await in_a_thread(self.view, READING)(arguments=arguments, answer=answer)
        except MemsweepError as error:
            logger.warning("an answer of %s could not be drawn: %s", self.name, error)
            return None
        return {HTML: html} if html else None

    def _sentence(self, error: BaseException) -> str:
        match error:
            case MemsweepError():
                return str(error)
            case ValidationError():
                return _invalid(error)
            case ToolError():  # of the SDK: an answer to our question that is none
                return "the client's answer could not be read; nothing was changed."
        from memsweep.secrets.find import redacted  # late: a server starts without its patterns

        trace = redacted("".join(traceback.format_exception(error)))[0]  # which may repeat what was handed in
        logger.error("tool %s failed\n%s", self.name, trace)
        return f"{self.name} failed unexpectedly ({type(error).__name__}); the server's log on stderr has the details."


_known: dict[Hashable, MemsweepTool] = {}


def in_a_thread(function: Callable[..., Any], threads: ThreadPoolExecutor) -> Callable[..., Awaitable[Any]]:
    """The event loop goes on while it waits for a lock or the disk. The SDK's way takes more rounds of the loop."""

    def answered(**arguments: Any) -> Any:
        try:
            with deadline.at_most(deadline.CALL_SECONDS):
                return function(**arguments)
        except deadline.Over:  # which came while the call was ending
            raise deadline.used_up() from None
        except StopIteration as error:  # which no future can carry
            raise RuntimeError("a generator ended too early") from error

    async def call(**arguments: Any) -> Any:
        if threads is not WRITING:
            return await begin(arguments)
        async with _turn(str(arguments.get("workspace_id") or "")):
            return await begin(arguments)

    async def begin(arguments: dict[str, Any]) -> Any:
        job = threads.submit(copy_context().run, partial(answered, **arguments))
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            if not job.cancelled():  # it has begun, and is not left alone
                with anyio.CancelScope(shield=True):
                    await asyncio.wait([ended := asyncio.wrap_future(job)])
                    ended.exception()
            raise

    return call


_turns: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()


def _turn(workspace_id: str) -> asyncio.Semaphore:
    """For the writers of one workspace; which one no name means is up to the token."""
    key = asyncio.get_running_loop(), bound_token(), workspace_id
    turn = _turns.get(key)
    if turn is None:
        _turns[key] = turn = asyncio.Semaphore(WRITERS)
    return turn


def _failure(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=f"Error: {visible(brief(sentence))}")], is_error=True)


def _invalid(error: ValidationError) -> str:
    """Pydantic's first complaint as a sentence that names the argument and the value."""
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"]) or "the arguments"
    if first["type"] == "missing":
        return f"{name} is required."
    return f"{name}: {first['msg'].rstrip('.')}, not {first['input']!r:.80}."


def compact_input(schema: dict[str, Any]) -> dict[str, Any]:
    """Without titles and nulls, closed for unknown arguments. A field that may be null may be left out."""
    return {**_compact(schema), "additionalProperties": False}


OUTPUT: dict[str, Any] = {"type": "object"}
"""What an answer has in it is plain to see in the answer, and written in docs/tools.md."""


def _compact(node: Any) -> Any:
    if isinstance(node, list):
        return [_compact(item) for item in node]
    if not isinstance(node, dict):
        return node
    options = [option for option in node.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        node = {**options[0], **{key: value for key, value in node.items() if key != "anyOf"}}
    return {key: _compact(value) for key, value in node.items() if not _says_nothing(key, value)}


def _says_nothing(key: str, value: Any) -> bool:
    return (
        (key == "title" and isinstance(value, str))
        or (key == "default" and value in (None, ""))
        or (key == "additionalProperties" and value is True)
    )


TOKEN = "memsweep.token"
"""Where the HTTP door leaves the token of a request, in its scope."""
_SESSION_LETTERS = 12


def token_of(request: Any) -> Token | None:
    """The token that an HTTP request came with; None over standard input and output."""
    found = getattr(request, "scope", {}).get(TOKEN)
    return found if isinstance(found, Token) else None


def caller_of(context: Context[Any, Any], tool: str, own_session: str) -> Origin:
    """`own_session`: of a connection that has no id, which is the only one of its server.

    Over HTTP a session is named by the token first: that is what we know, and the rest is what the client says.
    """
    asked = context.request_context
    client = asked.session.client_params
    name, version = (client.client_info.name, client.client_info.version) if client is not None else ("", "")
    token = token_of(asked.request)
    if token is None:
        return Origin("mcp", name, version or "", own_session, tool, "agent")
    session = (context.headers or {}).get("mcp-session-id", "")[:_SESSION_LETTERS]
    return Origin("http", name, version or "", f"{token.name}/{session}".rstrip("/"), tool, "agent")
