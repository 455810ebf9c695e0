"""Streams that stay open until somebody ends them; a server that stops ends them, and waits for all other requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from memsweep.server.caller import TOKEN
from memsweep.web.guard import Refusal, Shares
from memsweep.web.guarded import refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LISTENS = (b"mcp-method", b"subscriptions/listen")
_MOST_STREAMS = 256
_SHARE_IN_USE = Refusal(
    503,
    "Too many streams of this token are open; end one, or wait. Calls are still answered.",
    ((b"retry-after", b"5"),),
)
_VERSION, _CALLS = b"mcp-protocol-version", b"tools/call"


def is_stream(method: str, headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether an answer goes on for as long as the client listens."""
    return method == "GET" or any((name, value.strip()) == _LISTENS for name, value in headers)


def is_quick_call(headers: Sequence[tuple[bytes, bytes]], tools: Collection[str]) -> bool:
    """Return whether a request of the newer protocol, which names its tool in a header, calls one of these.

    The SDK refuses a name that is there twice, or that is another than the body's.
    """
    said = {name: value.strip() for name, value in headers if name in (b"mcp-method", b"mcp-name", _VERSION)}
    is_newer = said.get(_VERSION, b"").decode("latin-1") not in ("", *HANDSHAKE_PROTOCOL_VERSIONS)
    return is_newer and said.get(b"mcp-method") == _CALLS and said.get(b"mcp-name", b"").decode("latin-1") in tools


class Streams:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._end = asyncio.Event()
        self._shares = Shares(_MOST_STREAMS)

    def end(self) -> None:
        """To the application every listener has hung up; each gets the proper end of its answer."""
        self._end.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_stream(scope["method"], scope["headers"]):
            await self._app(scope, receive, send)
            return
        caller = scope[TOKEN].digest
        if not self._shares.take(caller):
            await refuse(_SHARE_IN_USE, send)
            return
        try:
            await self._stream(scope, receive, send)
        finally:
            self._shares.give_back(caller)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_open = False

        async def watched(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        await self._app(scope, lambda: self._received(receive), watched)
        if is_open and self._end.is_set():
            await send({"type": "http.response.body", "body": b""})

    async def _received(self, receive: Receive) -> Message:
        coming = asyncio.ensure_future(receive())
        ending = asyncio.ensure_future(self._end.wait())
        try:
            await asyncio.wait((coming, ending), return_when=asyncio.FIRST_COMPLETED)
            return coming.result() if coming.done() else {"type": "http.disconnect"}
        finally:
            for waiting in (coming, ending):
                waiting.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await waiting
