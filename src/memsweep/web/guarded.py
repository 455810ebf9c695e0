"""The guard around an ASGI application: nothing reaches it that the guard refuses, and every answer is protected."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from memsweep.web.guard import Guard, Refusal, with_security

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_SECONDS = 30.0


class GuardedApp:
    """ASGI middleware. `body_seconds`: how long a client may take to send a body."""

    def __init__(self, app: ASGIApp, guard: Guard, body_seconds: float = BODY_SECONDS) -> None:
        self._app, self._guard, self._body_seconds = app, guard, body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":  # nothing here speaks over web sockets
            await send({"type": "websocket.close", "code": 1008})
        elif refused := self._guard.refusal(scope["method"], scope["headers"]):
            await refuse(refused, _Protected(send).send)
        else:
            await _Request(self._guard, receive, send, self._body_seconds).answer(self._app, scope)


class _Protected:
    """An answer on its way out."""

    def __init__(self, send: Send) -> None:
        self._send, self.has_begun = send, False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            message = {**message, "headers": with_security(message.get("headers", []))}
        await self._send(message)


class _Request:
    """One request whose body may be refused while it comes; to the application its client has then hung up."""

    def __init__(self, guard: Guard, receive: Receive, send: Send, seconds: float) -> None:
        self._guard, self._receive = guard, receive
        self._answer = _Protected(send)
        self._until = asyncio.get_running_loop().time() + seconds
        self._size, self._is_whole = 0, False
        self._refusal: Refusal | None = None

    async def answer(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self.receive, self.send)
        except Exception:
            if self._refusal is None:
                raise
        if self._refusal is not None and not self._answer.has_begun:
            await refuse(self._refusal, self._answer.send)

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()
        message: Message = {"type": "http.disconnect"}
        if self._refusal is None:
            try:
                async with asyncio.timeout_at(self._until):
                    message = await self._receive()
            except TimeoutError:
                self._refusal = Refusal(408, "The body did not arrive in time.")
        self._size += len(message.get("body", b""))
        self._refusal = self._refusal or self._guard.body_refusal(self._size)
        if self._refusal is not None:
            return {"type": "http.disconnect"}
        self._is_whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if self._refusal is None or self._answer.has_begun:
            await self._answer.send(message)


async def refuse(refusal: Refusal, send: Send) -> None:
    """Answer with the sentence; the rest of the request is not read, so the connection ends with it."""
    text = f"{refusal.sentence}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
        *refusal.headers,
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
