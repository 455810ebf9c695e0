"""The HTTP door: what is served where, and what every request passes on its way."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from memsweep.app import App
from memsweep.model.token import Token
from memsweep.server.caller import TOKEN
from memsweep.server.envelope import TOO_MANY_VALUES, has_too_many_values
from memsweep.server.http import PATH
from memsweep.server.http.meter import CONTENT_TYPE, Meter
from memsweep.server.http.rate import Buckets, Rate
from memsweep.server.http.servers import Kind, kind_of
from memsweep.server.http.sessions import Sessions
from memsweep.server.http.streams import Streams, is_quick_call, is_stream
from memsweep.server.pipes import PipedServer
from memsweep.web.connections import MOST_CONNECTIONS
from memsweep.web.guard import Guard, Refusal, Shares
from memsweep.web.guarded import Guarded, refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from memsweep.errors import NotAllowed, StoreError
from memsweep.web.guard import Headers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_IDLE_SECONDS = 30 * 60
_MOST_SESSIONS = 10_000
"""Of all tokens of a kind; each has places of its own long before."""


class Door:
    """One ASGI application. `page`: what is served everywhere else, behind the same guard and a login of its own.

    Every answer may become a stream, with signs of life for whoever waits, which takes a third as long again as a small
    call itself. `quick_tools`, which agents call at every turn and which say nothing meanwhile, are answered at once.
    """

    def __init__(
        self,
        app: App,
        servers: Mapping[Kind, PipedServer],
        guard: Guard,
        meter: Meter,
        *,
        is_local: bool,
        quick_tools: Collection[str] = (),
        page: ASGIApp | None = None,
    ) -> None:
        self._meter, self._is_local = meter, is_local
        self._quick_tools = quick_tools
        self._managers: dict[tuple[Kind, bool], StreamableHTTPSessionManager] = {
            (kind, is_quick): StreamableHTTPSessionManager(
                server.protocol_server(),
                json_response=is_quick,
                max_request_body_size=guard.most_body_bytes,
                session_idle_timeout=_IDLE_SECONDS,
                max_sessions=_MOST_SESSIONS,
            )
            for kind, server in servers.items()
            for is_quick in (False, True)
        }
        self._streams = Streams(Sessions(self._mcp))
        buckets = Buckets(Rate(app.settings.http.requests_per_second, app.settings.http.burst))
        shares = Shares(MOST_CONNECTIONS)

        def behind_token(inner: ASGIApp) -> ASGIApp:
            return Bearer(inner, app.tokens.admit, buckets, shares)

        routes = [
            Route("/healthz", _healthz, methods=["GET"]),
            Route(PATH, behind_token(self._streams)),
            Route("/metrics", behind_token(self._metrics)),
        ]
        served = Starlette(routes=routes, lifespan=self._running)
        served.router.redirect_slashes = False
        served.router.default = page or behind_token(_nothing_here)
        guarded = Guarded(served, guard, app.settings.http.patience_seconds)
        self.asgi: ASGIApp = _Measured(guarded, self._meter)

    def end_streams(self) -> None:
        self._streams.end()

    @asynccontextmanager
    async def _running(self, served: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in self._managers.values():
                await stack.enter_async_context(manager.run())
            yield

    async def _mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            body, receive = await _whole_body(receive)
            if has_too_many_values(body):
                await refuse(Refusal(413, f"Refused: {TOO_MANY_VALUES}"), send)
                return
        token: Token = scope[TOKEN]
        chosen = kind_of(token, is_local=self._is_local), is_quick_call(scope["headers"], self._quick_tools)
        await self._managers[chosen].handle_request(scope, receive, send)

    async def _metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(self._meter.text(), media_type=CONTENT_TYPE)(scope, receive, send)


async def _whole_body(receive: Receive) -> tuple[bytes, Receive]:
    """Return the body of a request, and what says it once more to whoever reads it next."""
    parts: list[bytes] = []
    message: Message = {"type": "http.request", "more_body": True}
    while message["type"] == "http.request" and message.get("more_body", False):
        message = await receive()
        parts.append(message.get("body", b""))
    body = b"".join(parts)
    waiting = [{**message, "body": body}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return body, again


class _Measured:
    """ASGI middleware: counts what was answered, and how fast."""

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self._app, self._meter = app, meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 500, time.monotonic()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._meter.in_progress += 1
        try:
            await self._app(scope, receive, noted)
        finally:
            self._meter.in_progress -= 1
            lasts = scope["path"] == PATH and is_stream(scope["method"], scope["headers"])
            self._meter.request(scope["method"], status, None if lasts else time.monotonic() - began)


async def _healthz(request: object) -> PlainTextResponse:
    return PlainTextResponse("ok\n")


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    await refuse(Refusal(404, f"There is nothing here; agents are served at {PATH}."), send)


_SCHEME = "bearer "
_NO_TOKEN = Refusal(
    401,
    "A token is needed: send the header `Authorization: Bearer TOKEN`. `memsweep token create` makes one.",
    ((b"www-authenticate", b'Bearer realm="memsweep"'),),
)

_SHARE_IN_USE = Refusal(
    503, "Too many requests with this token are under way; wait for some of them.", ((b"retry-after", b"5"),)
)


class Bearer:
    """ASGI middleware. `admit` gives the token of a secret, or refuses it."""

    def __init__(self, app: ASGIApp, admit: Callable[[str], Token], buckets: Buckets, shares: Shares) -> None:
        self._app, self._admit, self._buckets, self._shares = app, admit, buckets, shares
        self._threads = ThreadPoolExecutor(8, "tokens")  # of its own: a call that waits for the store delays nobody

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        admitted = await self._look(scope["headers"])
        if isinstance(admitted, Refusal):
            await refuse(admitted, send)
            return
        if not self._shares.take(admitted.digest):
            await refuse(_SHARE_IN_USE, send)
            return
        # The SDK lets nobody else into a session than who opened it; the hash is what no other token has.
        known = AuthenticatedUser(AccessToken(token="", client_id=admitted.digest, scopes=[]))
        try:
            await self._app({**scope, TOKEN: admitted, "user": known}, receive, send)
        finally:
            self._shares.give_back(admitted.digest)

    async def _look(self, headers: Headers) -> Token | Refusal:
        secret = secret_in(headers)
        if not secret:
            return _NO_TOKEN
        try:
            token = await asyncio.get_running_loop().run_in_executor(self._threads, self._admit, secret)
        except NotAllowed as error:
            return Refusal(401, _sentence(error), ((b"www-authenticate", _INVALID),))
        except StoreError as error:
            return Refusal(503, _sentence(error), ((b"retry-after", b"5"),))
        seconds = self._buckets.seconds_to_wait(token.digest, time.monotonic())
        if not seconds:
            return token
        wait = math.ceil(seconds)
        return Refusal(
            429,
            f"Too many requests with this token; try again in {wait} s. The settings `http.*` say how many.",
            ((b"retry-after", str(wait).encode()),),
        )


_INVALID = b'Bearer realm="memsweep", error="invalid_token"'


def secret_in(headers: Headers) -> str:
    """The secret of a request; empty where there is none, or more than one."""
    given = [value.decode("latin-1") for name, value in headers if name == b"authorization"]
    if len(given) != 1 or given[0][: len(_SCHEME)].lower() != _SCHEME:
        return ""
    return given[0][len(_SCHEME) :].strip()


def _sentence(error: NotAllowed | StoreError) -> str:
    said = str(error)
    return said[:1].upper() + said[1:]
