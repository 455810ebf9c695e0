"""Standard input and output, a message a line.

Pipes are watched by the event loop itself: the SDK reads and writes in worker threads, three times there and back a
call, a quarter of the time of a small one. Files and terminals, which cannot be watched so, are read in threads.
"""

from __future__ import annotations

import logging
import math
import os
import select
import stat
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_PARAMS

from memsweep.model.text import clipped, shown
from memsweep.server.envelope import MAX_LINE_BYTES, LongLine, Refused, read_line, write_line

_PIECE = 1 << 16
logger = logging.getLogger("memsweep.server")

Outgoing = SessionMessage | str  # a refusal is a line already


class PipedServer(MCPServer[Any]):
    """The SDK's server with a shorter way to its client, and an answer to every line."""

    async def run_stdio_async(self) -> None:
        server = self._protocol_server()
        asking, asked = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        # Without a bound, so that a client that sends all before it reads any does not stop us reading.
        answered, answering = anyio.create_memory_object_stream[Outgoing](math.inf)
        async with anyio.create_task_group() as tasks:
            lines, answers = Lines(_taken(0)), Answers(_taken(1), tasks.cancel_scope.cancel)
            tasks.start_soon(_listen, lines, asking, answered.clone())
            tasks.start_soon(_speak, answers, answering)
            await server.run(asked, answered, server.create_initialization_options())

    def _protocol_server(self) -> Server[Any]:
        """What speaks the protocol over any two streams; the SDK names it in public only where it serves HTTP."""
        self.streamable_http_app()
        return self.session_manager.app

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:  # there is no such tool; all other failures are answered by the tool
            raise ToolError(clipped(str(error))) from None

    async def get_prompt(self, name: str, *others: Any, **options: Any) -> Any:
        if all(prompt.name != name for prompt in await self.list_prompts()):  # the SDK would log it as a crash of ours
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {shown(name)}")
        return await super().get_prompt(name, *others, **options)


async def _listen(
    lines: Lines,
    asking: MemoryObjectSendStream[SessionMessage | Exception],
    refusing: MemoryObjectSendStream[Outgoing],
) -> None:
    async with asking, refusing:
        async for line in lines:
            match read_line(line):
                case Refused() as refused:
                    logger.warning("a line was refused: %s", refused.why)
                    for answer in refused.answers:
                        await refusing.send(answer)
                case message:
                    await asking.send(SessionMessage(message))


async def _speak(answers: Answers, answering: MemoryObjectReceiveStream[Outgoing]) -> None:
    async with answering:
        async for item in answering:
            await answers.write((item if isinstance(item, str) else write_line(item.message)) + "\n")


def _is_watchable(descriptor: int) -> bool:
    if sys.platform == "win32":
        return False
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _taken(descriptor: int) -> int:
    """The same pipe by a private number: whoever else prints does so to stderr, and whoever reads finds nothing."""
    private = _above_the_three(descriptor)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(2 if descriptor and sys.stderr else nothing, descriptor)
    os.close(nothing)
    return private


def _above_the_three(descriptor: int) -> int:
    """Not in place of one of the three that is closed."""
    if sys.platform == "win32":
        return os.dup(descriptor)
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


class Lines:
    """The lines that come in; the last one need not end. Of one beyond the limit only the ends are kept."""

    def __init__(self, descriptor: int, limit: int = MAX_LINE_BYTES) -> None:
        self._descriptor, self._limit = descriptor, limit
        self._is_watchable = _is_watchable(descriptor)

    async def __aiter__(self) -> AsyncIterator[bytes | LongLine]:
        begun = _Begun(self._limit)
        while piece := await self._piece():
            first, *others = piece.split(b"\n")
            begun.add(first)
            for part in others:
                yield begun.taken()
                begun.add(part)
        if begun:
            yield begun.taken()

    async def _piece(self) -> bytes:
        try:
            if not self._is_watchable:
                return await anyio.to_thread.run_sync(os.read, self._descriptor, _PIECE, abandon_on_cancel=True)
            await anyio.wait_readable(self._descriptor)
            return os.read(self._descriptor, _PIECE)
        except ConnectionError:
            return b""


class _Begun:
    """What has come of a line so far."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._long: LongLine | None = None

    def __bool__(self) -> bool:
        return self._size > 0

    def add(self, part: bytes) -> None:
        self._size += len(part)
        if self._long is not None:
            self._long = self._long.then(part)
            return
        self._parts.append(part)
        if self._size > self._limit:
            self._long, self._parts = LongLine.of(b"".join(self._parts)), []

    def taken(self) -> bytes | LongLine:
        line = self._long or b"".join(self._parts)
        self._parts, self._size, self._long = [], 0, None
        return line


class Answers:
    """What goes out, in pieces that a pipe that can be written takes without waiting: a slow client stops nobody."""

    def __init__(self, descriptor: int, hang_up: Callable[[], None]) -> None:
        self._descriptor, self._hang_up = descriptor, hang_up
        self._is_watchable = _is_watchable(descriptor)
        if self._is_watchable:
            self._ready = select.poll()
            self._ready.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        left = memoryview(text.encode())
        try:
            while left:
                left = left[await self._written(left) :]
        except ConnectionError:  # nobody reads any more
            self._hang_up()

    async def _written(self, left: memoryview) -> int:
        if not self._is_watchable:
            return await anyio.to_thread.run_sync(os.write, self._descriptor, left)
        if not self._ready.poll(0):
            await anyio.wait_writable(self._descriptor)
        return os.write(self._descriptor, left[: select.PIPE_BUF])
