"""Sessions of the older protocols: so many for each token, so that nobody takes another one's place."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from memsweep.server.caller import TOKEN
from memsweep.web.guard import Headers, Refusal
from memsweep.web.guarded import refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_OF_A_TOKEN = 100
_ID, _VERSION = b"mcp-session-id", b"mcp-protocol-version"
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
        name, version = (_header(scope["headers"], wanted) for wanted in (_ID, _VERSION))
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
        headers = [(key, value) for key, value in scope["headers"] if key in (b"host", _VERSION)]

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
