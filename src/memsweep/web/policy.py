"""What browsers may do with the page: a nonce for every answer, and the content security policy that names it."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; require-trusted-types-for 'script'; trusted-types 'none';"
    " style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
_REFUSED = "Requests from the pages of other sites are refused.\n"


class WithPolicy:
    """ASGI middleware; templates find the nonce in the scope."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["nonce"] = secrets.token_urlsafe(16)
        policy = (b"content-security-policy", _POLICY.format(nonce=scope["nonce"]).encode())

        async def with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], policy]
            await send(message)

        app = PlainTextResponse(_REFUSED, 403) if _is_embedded(scope) else self._app
        try:
            await app(scope, receive, with_policy)
        except ClientDisconnect:  # or the guard has refused the rest of the request, and answers itself
            return


def _is_embedded(scope: Scope) -> bool:
    """Whether a page of another site fetches this, rather than leading somebody to it."""
    said = dict(scope["headers"])
    if said.get(b"sec-fetch-site", b"none") not in (b"cross-site", b"same-site"):
        return False
    return said.get(b"sec-fetch-mode") != b"navigate" or said.get(b"sec-fetch-dest") != b"document"
