"""Decide who may speak to an HTTP door of ours at all, before it is asked who they are; and guard an application so.

A page of another site, open in the same browser, can send requests to 127.0.0.1. It cannot choose their Host, Origin or
Sec-Fetch-Site: so those are compared exactly, and whatever does not name us is refused before anything is read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memsweep.errors import BadInput
from memsweep.model.text import MAX_TEXT_BYTES

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


Headers = Sequence[tuple[bytes, bytes]]
"""As ASGI has them: names in small letters."""

MOST_BODY_BYTES = MAX_TEXT_BYTES + MAX_TEXT_BYTES // 2  # the longest text, with quotes and line ends escaped
_READS = ("GET", "HEAD", "OPTIONS")
_OWN_SITE = (b"same-origin", b"none")  # none: typed or opened by the person
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
_USUAL_PORT = 80

SECURITY_HEADERS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # With `no-referrer` a browser sends `Origin: null` from our own forms.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""On every answer that does not say otherwise by itself."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a refused request: a status, and a sentence that says what to do."""

    status: int
    sentence: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Guard:
    """The names of one door: each Host that is ours, with the only Origin that goes with it."""

    origins: dict[bytes, bytes]
    most_body_bytes: int = MOST_BODY_BYTES

    def refusal(self, method: str, headers: Headers) -> Refusal | None:
        """Why a request is not for us; None if it may come in."""
        hosts, origins = _all(headers, b"host"), _all(headers, b"origin")
        host = hosts[0].lower() if len(hosts) == 1 else b""
        if host not in self.origins:
            known = ", ".join(sorted(name.decode() for name in self.origins))
            return Refusal(421, f"This server is not known by that name, but as {known}. `--allowed-host` adds one.")
        if any(origin.lower() != self.origins[host] for origin in origins):
            return Refusal(403, "Requests from the pages of other sites are refused.")
        if method not in _READS and any(site not in _OWN_SITE for site in _all(headers, b"sec-fetch-site")):
            return Refusal(403, "Requests from the pages of other sites are refused.")
        return self._too_large(headers)

    def _too_large(self, headers: Headers) -> Refusal | None:
        declared = _all(headers, b"content-length")
        return self.body_refusal(max((int(each) for each in declared if each.isdigit()), default=0))

    def body_refusal(self, size: int) -> Refusal | None:
        """Why a body of this size, or that has grown to it, is not read further."""
        if size <= self.most_body_bytes:
            return None
        return Refusal(413, f"The body has more than {self.most_body_bytes:,} bytes, the maximum. Split it.")


class Shares:
    """Places for what is under way, shared among callers.

    A caller may hold as many as are free. So one alone gets half of them, several get the same, and somebody who holds
    none is let in, whatever the others do, until there are as many callers as places.
    """

    def __init__(self, places: int) -> None:
        self._places, self._held = places, Counter[str]()

    def take(self, caller: str) -> bool:
        """Take a place; False if the caller has its share already. One that was taken is given back."""
        if self._held[caller] >= self._places - self._held.total():
            return False
        self._held[caller] += 1
        return True

    def give_back(self, caller: str) -> None:
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]


def make_guard(port: int, allowed_hosts: Iterable[str] = (), most_body_bytes: int = MOST_BODY_BYTES) -> Guard:
    """A door on this port: by the names of loopback, and by those that somebody allowed.

    Beyond loopback a proxy adds TLS, so the page of an allowed name has its origin there.
    """
    ports = ["", f":{port}"] if port == _USUAL_PORT else [f":{port}"]
    origins = {f"{name}{each}": "http" for name in ("127.0.0.1", "localhost", "[::1]") for each in ports}
    origins |= {check_host(name): "https" for name in allowed_hosts}
    return Guard({name.encode(): f"{scheme}://{name}".encode() for name, scheme in origins.items()}, most_body_bytes)


def check_host(name: str) -> str:
    """A name as it can be allowed: exactly what clients will say, without a scheme, a path or a wildcard."""
    host, port = _split(name.lower())
    named = _is_address(host) if host.startswith("[") else _NAME.fullmatch(host) is not None
    if not named or not (port == "" or (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        raise BadInput(
            f"allowed host {name!r:.80} is not a host name, with or without a port.",
            hint="Give the host as clients write it, such as memory.example.com or 10.0.0.5:8765.",
        )
    return name.lower()


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a listener there."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def with_security(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, and ours where it has none of that name."""
    said = {name.lower() for name, _ in headers}
    return [*headers, *((name, value) for name, value in SECURITY_HEADERS if name not in said)]


def _split(name: str) -> tuple[str, str]:
    """Host and port; a colon with nothing after it is no port."""
    head, colon, port = name.rpartition(":")
    if not colon or port.endswith("]"):
        return name, ""
    return head, port or "?"


def _is_address(host: str) -> bool:
    try:
        return host.endswith("]") and ipaddress.ip_address(host[1:-1]).version == 6
    except ValueError:
        return False


def _all(headers: Headers, wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


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
