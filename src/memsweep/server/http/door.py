"""The HTTP door: what is served where, what every request passes on its way, and the sessions of older protocols."""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import socket
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from memsweep.app import App
from memsweep.errors import BadInput, NotAllowed, StoreError
from memsweep.model.token import Token
from memsweep.server.envelope import TOO_MANY_VALUES, has_too_many_values
from memsweep.server.http import PATH
from memsweep.server.http.servers import CONTENT_TYPE, Kind, Meter, kind_of
from memsweep.server.pipes import PipedServer
from memsweep.server.tool import TOKEN
from memsweep.web.connections import MOST_CONNECTIONS, EndingServer, limits
from memsweep.web.guard import Guard, GuardedApp, Headers, Refusal, Shares, refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
        guarded = GuardedApp(served, guard, app.settings.http.patience_seconds)
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


# Limit the requests of a token: a bucket that fills steadily. Pure, but for who keeps the buckets.


@dataclass(frozen=True, slots=True)
class Rate:
    per_second: float
    burst: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """The requests that were left at a moment."""

    left: float
    at: float


def take(bucket: Bucket | None, rate: Rate, now: float) -> tuple[Bucket, float]:
    """The bucket after a request, and how many seconds that has to wait; 0: it may come in.

    `now` never goes back. A request that has to wait takes nothing, so that waiting helps.
    """
    if bucket is None:
        bucket = Bucket(rate.burst, now)
    left = min(rate.burst, bucket.left + (now - bucket.at) * rate.per_second)
    if left < 1:
        return Bucket(left, now), (1 - left) / rate.per_second
    return Bucket(left - 1, now), 0.0


class Buckets:
    """One for each token."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._kept: dict[str, Bucket] = {}

    def seconds_to_wait(self, digest: str, now: float) -> float:
        self._kept[digest], seconds = take(self._kept.get(digest), self._rate, now)
        return seconds


# The socket, and the loop that serves it until a signal; begun requests are finished first.

_FINISH_SECONDS = 30


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens already: whoever comes early waits."""
    plain = "127.0.0.1" if host.lower() == "localhost" else host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    try:
        listener = socket.create_server((plain, port), family=family, backlog=128)
    except OSError as error:
        raise BadInput(
            f"cannot listen on {host}:{port} ({error.strerror or error}).",
            hint="Choose another --port, or stop what is there.",
        ) from None
    # asyncio lets answers go at once on a socket that says it is TCP; otherwise each waits 40 ms for its client.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())


def serve_until_signalled(door: Door, listener: socket.socket, patience_seconds: float) -> None:
    """`patience_seconds`: how long a client may take to send the head of a request."""
    # The library would cut off answers that are being streamed; ours are finished, and only endless ones are ended.
    AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]
    config = uvicorn.Config(
        door.asgi,
        loop="asyncio",
        lifespan="on",
        log_config=None,
        timeout_graceful_shutdown=_FINISH_SECONDS,
        **limits(patience_seconds),
    )
    server = _Server(config, door)
    with _signals_end_quietly(server):
        server.run(sockets=[listener])


@contextlib.contextmanager
def _signals_end_quietly(server: uvicorn.Server) -> Iterator[None]:
    """Uvicorn listens to signals only once its loop runs, and sends itself the signal again when all is done.

    One that comes earlier ends the server too; after the end there is nothing left to end.
    """
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, server.handle_exit) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


class _Server(EndingServer):
    def __init__(self, config: uvicorn.Config, door: Door) -> None:
        super().__init__(config)
        self._door = door

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._door.end_streams()
        await super().shutdown(sockets)


# Streams that stay open until somebody ends them; a server that stops ends them, and waits for all other requests.

_LISTENS = (b"mcp-method", b"subscriptions/listen")
_MOST_STREAMS = 256
_STREAMS_IN_USE = Refusal(
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
            await refuse(_STREAMS_IN_USE, send)
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


MOST_OF_A_TOKEN = 100
_ID, _VERSION_HEADER = b"mcp-session-id", b"mcp-protocol-version"
_FULL = Refusal(
    503,
    f"This token has {MOST_OF_A_TOKEN} sessions open, and all of them are in use; end one, or wait.",
    ((b"retry-after", b"5"),),
)


@dataclass(slots=True)
class HttpSession:
    used: float
    """When its last request ended."""
    requests: int = 0
    """That are under way, streams among them."""


@dataclass(slots=True)
class Places:
    """Of one token."""

    sessions: dict[str, HttpSession] = field(default_factory=dict)
    opening: int = 0

    @property
    def are_taken(self) -> bool:
        return len(self.sessions) + self.opening >= MOST_OF_A_TOKEN


def longest_idle(sessions: Mapping[str, HttpSession]) -> str | None:
    """Return the session that gives its place to a new one. Pure."""
    idle = [(each.used, name) for name, each in sessions.items() if not each.requests]
    return min(idle)[1] if idle else None


class Sessions:
    """ASGI middleware around what keeps the sessions, behind the token."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._places: dict[str, Places] = defaultdict(Places)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, version = (_header(scope["headers"], wanted) for wanted in (_ID, _VERSION_HEADER))
        if version and version not in HANDSHAKE_PROTOCOL_VERSIONS:  # the newer protocol has no sessions
            await self._app(scope, receive, send)
        elif name:
            await self._within(name, scope, receive, send)
        else:
            await self._open(scope, receive, send)

    async def _within(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        sessions = self._places[scope[TOKEN].digest].sessions
        session = sessions.get(name)
        if session is None:  # another token's, or none at all
            await self._app(scope, receive, send)
            return
        answer = _Noted(send)
        session.requests += 1
        try:
            await self._app(scope, receive, answer.send)
        finally:
            session.requests -= 1
            session.used = time.monotonic()
        if answer.status == 404 or scope["method"] == "DELETE":
            sessions.pop(name, None)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        places = self._places[scope[TOKEN].digest]
        while places.are_taken:
            name = longest_idle(places.sessions)
            if name is None:
                await refuse(_FULL, send)
                return
            del places.sessions[name]
            await self._end(name, scope)
        answer = _Noted(send)
        places.opening += 1
        try:
            await self._app(scope, receive, answer.send)
        finally:
            places.opening -= 1
        if answer.session and answer.status < 300:
            places.sessions[answer.session] = HttpSession(time.monotonic())

    async def _end(self, name: str, scope: Scope) -> None:
        """As its client would; one that has ended already is not there."""
        headers = [(key, value) for key, value in scope["headers"] if key in (b"host", _VERSION_HEADER)]

        async def nothing_more() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def ignore(message: Message) -> None: ...

        asked = {**scope, "method": "DELETE", "headers": [*headers, (_ID, name.encode())]}
        await self._app(asked, nothing_more, ignore)


class _Noted:
    """An answer on its way out, of which the status and the session are known."""

    def __init__(self, send: Send) -> None:
        self._send, self.status, self.session = send, 500, ""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.session = _header(message.get("headers", []), _ID)
        await self._send(message)


def _header(headers: Headers, wanted: bytes) -> str:
    return next((value.decode("latin-1") for name, value in headers if name == wanted), "")
