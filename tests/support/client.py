"""Talk to a real server process: through the SDK's client, or line by line."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, ErrorData, Tool

from tests.support.answers import explained_names
from tests.support.commands import environment
from tests.support.counts import QUICK
from tests.support.waiting import PATIENCE, wait_for
from tests.support.warm_python import warm_python

MODES = ("legacy", "auto")
TRIED_MODES = MODES[-1:] if QUICK else MODES
"""The generations of the protocol that the tools are tested with; `make quick` takes the newest."""


class ToolFailed(Exception):
    """The tool said no; the text is what the model reads."""


class ServerClient:
    """The SDK's client over stdio, for tests that do not await."""

    def __init__(self, portal: Any, client: Client) -> None:
        self._portal, self.client = portal, client

    def result_of(self, request: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """What a request of the SDK's client gives."""
        return self._portal.call(request, *arguments)

    @property
    def protocol_version(self) -> str:
        return str(self.client.protocol_version)

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self._portal.call(self.client.list_tools).tools}

    def call_raw(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        return self._portal.call(self.client.call_tool, name, arguments)  # type: ignore[no-any-return]

    def call_within(self, seconds: float, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """The same by a client that gives up."""

        async def call() -> CallToolResult:
            with anyio.fail_after(seconds):
                return await self.client.call_tool(name, arguments)

        return self._portal.call(call)  # type: ignore[no-any-return]

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer, checked against its text, its schema (by the SDK) and what the documents explain."""
        result = self.call_raw(name, arguments)
        (content,) = result.content
        if result.is_error:
            raise ToolFailed(content.text)  # type: ignore[union-attr]
        assert result.structured_content is not None
        assert json.loads(content.text) == result.structured_content  # type: ignore[union-attr]
        unexplained = result.structured_content.keys() - explained_names()[name] - {"note"}
        assert unexplained == set(), f"docs/tools.md does not explain them at {name}"
        return result.structured_content


Asked = Callable[[str], Awaitable[ElicitResult | ErrorData]]


async def say_yes(question: str) -> ElicitResult:
    """A person who agrees to everything."""
    return ElicitResult(action="accept", content={"approve": True})


@contextmanager
def connected(
    home: Path, mode: str, *arguments: str, log: Path | None = None, asked: Asked | None = None, **settings: str
) -> Iterator[ServerClient]:
    """A server process of its own and a client of one generation of the protocol; `asked` answers its questions."""

    async def answer(context: Any, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        assert asked is not None
        return await asked(params.message)

    program, *options = warm_python()
    server = StdioServerParameters(
        command=program, args=[*options, "-m", "memsweep", "serve", *arguments], env=environment(home, **settings)
    )
    with ExitStack() as stack:
        errors = stack.enter_context((log or Path(os.devnull)).open("w"))
        portal = stack.enter_context(start_blocking_portal())
        asking = {} if asked is None else {"elicitation_callback": answer}
        client = Client(stdio_client(server, errlog=errors), mode=mode, **asking)  # type: ignore[arg-type]
        stack.enter_context(portal.wrap_async_context_manager(client))
        yield ServerClient(portal, client)


class RawServer:
    """A server process and its pipes."""

    def __init__(self, command: list[str], env: dict[str, str], pass_fds: tuple[int, ...] = ()) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=pass_fds)
        self._buffer = b""
        self.lines: list[bytes] = []
        self._ids = iter(range(1, 1_000_000))

    def send_bytes(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        number = next(self._ids)
        self.send_bytes(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}).encode())
        return number

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode())

    def line(self) -> bytes:
        """The next line of standard output."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the server does not answer"
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            assert part, "the server has closed its output"
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\n", 1)
        self.lines.append(line)
        return line

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request; notifications and other answers on the way are skipped."""
        while True:
            message: dict[str, Any] = json.loads(self.line())
            if message.get("id") == number:
                return message

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(self.send(method, params))

    def initialize(self, version: str = "2025-11-25") -> dict[str, Any]:
        client = {"name": "test", "version": "1"}
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})
        self.notify("notifications/initialized")
        return answer

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def hang_up(self) -> tuple[int, bytes, bytes]:
        """Close its input; its exit status, the rest of its output, and its log."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, self._buffer + out, err

    def end(self) -> None:
        """Whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
        wait_for(lambda: self.process.poll() is not None, "the server to end")
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()


@contextmanager
def raw_server(
    home: Path | str,
    *arguments: str,
    executed: bool = False,
    prefix: Sequence[str] = (),
    options: Sequence[str] = (),
    **settings: str,
) -> Iterator[RawServer]:
    """A server and its pipes; `executed`, or with a program before it, for tests of how a process starts and ends.

    `options` stand before the command.
    """
    python = [*prefix, sys.executable] if executed or prefix else warm_python()
    server = RawServer([*python, "-m", "memsweep", *options, "serve", *arguments], environment(home, **settings))
    try:
        yield server
    finally:
        server.end()
