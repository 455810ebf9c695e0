"""Standard input and output as pipes that the event loop watches itself.

The SDK reads and writes them in worker threads, three times there and back a call: a quarter of the time of a small
one. Files and terminals, which cannot be watched so, are left to it.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server

_PIECE = 1 << 16


class PipedServer(MCPServer[Any]):
    """The SDK's server with a shorter way to its client."""

    async def run_stdio_async(self) -> None:
        if not (_is_watchable(0) and _is_watchable(1)):
            await super().run_stdio_async()
            return
        server = self._lowlevel_server
        with anyio.CancelScope() as client_is_there:
            lines, answers = Lines(_taken(0)), Answers(_taken(1), client_is_there.cancel)
            # They are as much of a file as it uses.
            async with stdio_server(lines, answers) as (asked, answered):  # type: ignore[arg-type]
                await server.run(asked, answered, server.create_initialization_options())


def _is_watchable(descriptor: int) -> bool:
    if sys.platform == "win32":
        return False
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _taken(descriptor: int) -> int:
    """The same pipe by a private number: whoever else prints does so to stderr, and whoever reads finds nothing."""
    import fcntl

    private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)  # not in place of one of the three that is closed
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(2 if descriptor and sys.stderr else nothing, descriptor)
    os.close(nothing)
    return private


class Lines:
    """The lines that come in, of any length; the last one need not end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        begun: list[bytes] = []
        while piece := await self._piece():
            begun.append(piece)
            if b"\n" in piece:
                *lines, rest = b"".join(begun).split(b"\n")
                begun = [rest]
                for line in lines:
                    yield line.decode("utf-8", "replace")
        if rest := b"".join(begun):
            yield rest.decode("utf-8", "replace")

    async def _piece(self) -> bytes:
        await anyio.wait_readable(self._descriptor)
        try:
            return os.read(self._descriptor, _PIECE)
        except ConnectionError:
            return b""


class Answers:
    """What goes out, in pieces that a pipe that can be written takes without waiting: a slow client stops nobody."""

    def __init__(self, descriptor: int, hang_up: Callable[[], None]) -> None:
        self._descriptor, self._hang_up = descriptor, hang_up
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        left = memoryview(text.encode())
        try:
            while left:
                if not self._ready.poll(0):
                    await anyio.wait_writable(self._descriptor)
                left = left[os.write(self._descriptor, left[: select.PIPE_BUF]) :]
        except ConnectionError:  # nobody reads any more
            self._hang_up()
            raise anyio.ClosedResourceError from None

    async def flush(self) -> None:
        """Nothing is held back."""
