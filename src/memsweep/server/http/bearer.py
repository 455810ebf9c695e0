"""Behind this only those with a token that is good at this moment: it is looked up on each request."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from memsweep.errors import NotAllowed, StoreError
from memsweep.model.token import Token
from memsweep.server.caller import TOKEN
from memsweep.server.http.rate import Buckets
from memsweep.web.guard import Headers, Refusal
from memsweep.web.guarded import refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_SCHEME = "bearer "
_NO_TOKEN = Refusal(
    401,
    "A token is needed: send the header `Authorization: Bearer TOKEN`. `memsweep token create` makes one.",
    ((b"www-authenticate", b'Bearer realm="memsweep"'),),
)


class Bearer:
    """ASGI middleware. `admit` gives the token of a secret, or refuses it."""

    def __init__(self, app: ASGIApp, admit: Callable[[str], Token], buckets: Buckets) -> None:
        self._app, self._admit, self._buckets = app, admit, buckets
        self._threads = ThreadPoolExecutor(8, "tokens")  # of its own: a call that waits for the store delays nobody

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        admitted = await self._look(scope["headers"])
        if isinstance(admitted, Refusal):
            await refuse(admitted, send)
            return
        # The SDK lets nobody else into a session than who opened it; the hash is what no other token has.
        known = AuthenticatedUser(AccessToken(token="", client_id=admitted.digest, scopes=[]))
        await self._app({**scope, TOKEN: admitted, "user": known}, receive, send)

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
