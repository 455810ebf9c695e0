"""Standard input and output, a message a line.

Pipes are watched by the event loop itself: the SDK reads and writes in worker threads, three times there and back a
call, a quarter of the time of a small one. Files and terminals, which cannot be watched so, are read in threads.
"""

from __future__ import annotations

import logging
import math
import os
import select
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_PARAMS, JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId

from memsweep.model.text import clipped, shown
from memsweep.server.envelope import MAX_LINE_BYTES, LongLine, Refused, read_line, write_line
from memsweep.server.front import PIECE, Front, is_watchable, room_in

logger = logging.getLogger("memsweep.server")

Outgoing = SessionMessage | str  # a refusal is a line already


class PipedServer(MCPServer[Any]):
    """The SDK's server with a shorter way to its client, and an answer to every line."""

    def __init__(
        self, *arguments: Any, front: Front | None = None, withheld: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._front = front
        self._withheld = withheld or {}

    async def run_stdio_async(self) -> None:
        server = self.protocol_server()
        opening = (self._front or Front()).hand_over()
        asking, asked = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        # Without a bound, so that a client that sends all before it reads any does not stop us reading.
        answered, answering = anyio.create_memory_object_stream[Outgoing](math.inf)
        async with anyio.create_task_group() as tasks:
            repeated = _Repeated(opening.answered)
            lines = Lines(opening.reading, begun=opening.unread)
            answers = Answers(opening.writing, tasks.cancel_scope.cancel, begun=opening.unsent)
            tasks.start_soon(_listen, repeated, lines, asking, answered.clone())
            tasks.start_soon(_speak, repeated, answers, answering)
            await server.run(asked, answered, server.create_initialization_options())

    def protocol_server(self) -> Server[Any]:
        """Return the protocol's server for any two streams; in the SDK only its HTTP side names it in public."""
        self.streamable_http_app()
        return self.session_manager.app

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:  # there is no such tool; all other failures are answered by the tool
            if name in self._withheld:
                raise ToolError(self._withheld[name]) from None
            raise ToolError(clipped(str(error))) from None

    async def get_prompt(self, name: str, *others: Any, **options: Any) -> Any:
        if all(prompt.name != name for prompt in await self.list_prompts()):  # the SDK would log it as a crash of ours
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {shown(name)}")
        try:
            return await super().get_prompt(name, *others, **options)
        except ValueError as error:  # what it was given is not what it takes
            raise MCPError(INVALID_PARAMS, clipped(str(error))) from None


class _Repeated:
    """The lines that the front answered, repeated so that the SDK knows its client; nobody hears the answers."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self._awaited: RequestId | None = None
        self._came = anyio.Event()

    async def send_to(self, asking: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """One after the other, so that an answer that comes is the answer to the last one."""
        for line in self._lines:
            message = read_line(line)
            if isinstance(message, Refused):
                raise RuntimeError(f"the front has answered what is refused: {message.why}")
            if isinstance(message, JSONRPCRequest):
                self._awaited, self._came = message.id, anyio.Event()
            await asking.send(SessionMessage(message))
            if self._awaited is not None:
                await self._came.wait()

    def swallows(self, item: Outgoing) -> bool:
        if self._awaited is None or isinstance(item, str):
            return False
        if not isinstance(item.message, JSONRPCResponse | JSONRPCError) or item.message.id != self._awaited:
            return False
        if isinstance(item.message, JSONRPCError):
            logger.error("the front has answered what the server refuses: %s", item.message.error.message)
        self._awaited = None
        self._came.set()
        return True


async def _listen(
    repeated: _Repeated,
    lines: Lines,
    asking: MemoryObjectSendStream[SessionMessage | Exception],
    refusing: MemoryObjectSendStream[Outgoing],
) -> None:
    async with asking, refusing:
        await repeated.send_to(asking)
        async for line in lines:
            match read_line(line):
                case Refused() as refused:
                    logger.warning("a line was refused: %s", refused.why)
                    for answer in refused.answers:
                        await refusing.send(answer)
                case message:
                    await asking.send(SessionMessage(message))


async def _speak(repeated: _Repeated, answers: Answers, answering: MemoryObjectReceiveStream[Outgoing]) -> None:
    async with answering:
        await answers.finish()
        async for item in answering:
            if repeated.swallows(item):
                continue
            await answers.write((item if isinstance(item, str) else write_line(item.message)) + "\n")


class Lines:
    """The lines that come in; the last one need not end. Of one beyond the limit only the ends are kept."""

    def __init__(self, descriptor: int, limit: int = MAX_LINE_BYTES, begun: bytes = b"") -> None:
        self._descriptor, self._limit, self._first = descriptor, limit, begun
        self._is_watchable = is_watchable(descriptor)

    async def __aiter__(self) -> AsyncIterator[bytes | LongLine]:
        begun = _Begun(self._limit)
        while piece := self._first or await self._piece():
            self._first = b""
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
                return await anyio.to_thread.run_sync(os.read, self._descriptor, PIECE, abandon_on_cancel=True)
            await anyio.wait_readable(self._descriptor)
            return os.read(self._descriptor, PIECE)
        except ConnectionError:
            return b""


class _Begun:
    """The parts of an unfinished line."""

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
    """The writer of answers, in pieces that a writable pipe takes without waiting: a slow client stops nobody."""

    def __init__(self, descriptor: int, hang_up: Callable[[], None], begun: bytes = b"") -> None:
        self._descriptor, self._hang_up, self._begun = descriptor, hang_up, begun
        self._is_watchable = is_watchable(descriptor)
        if self._is_watchable:
            self._ready = select.poll()
            self._ready.register(descriptor, select.POLLOUT)

    async def finish(self) -> None:
        """Write the rest of what somebody else began."""
        await self._write(self._begun)

    async def write(self, text: str) -> None:
        await self._write(text.encode())

    async def _write(self, whole: bytes) -> None:
        left = memoryview(whole)
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
        return os.write(self._descriptor, left[: room_in(self._descriptor)])
