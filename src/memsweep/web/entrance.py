"""In and out: the login, the logout, and what a browser remembers of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from anyio import to_thread
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memsweep.errors import BadInput, NotAllowed, StoreError
from memsweep.web.forms import read_form
from memsweep.web.guard import Shares
from memsweep.web.login import HOURS
from memsweep.web.rendering import render
from memsweep.web.screen import THEME_COOKIE, THEMES, Call, theme_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from memsweep.web.page import Page

_YEAR = 31_536_000
_MOST_BYTES = 4096
_MOST_AT_ONCE = 64
_UNKNOWN = "That is no link of this server. Run memsweep ui again for a new one."


class Entrance:
    """The only paths that are open to somebody without a session."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._shares = Shares(_MOST_AT_ONCE)

    async def show(self, request: Request) -> Response:
        return _form(request)

    async def log_in(self, request: Request) -> Response:
        """Log in, unless the sender's address has begun so many logins already that it has its share of them."""
        address = request.client.host if request.client else ""
        if not self._shares.take(address):
            return _form(request, "Too many logins are under way. Wait for some seconds, and try again.", 503)
        try:
            return await self._log_in(request)
        finally:
            self._shares.give_back(address)

    async def _log_in(self, request: Request) -> Response:
        """Exchange a token for a cookie; browsers send an Origin with every form, and the guard has compared it."""
        try:
            token = (await read_form(request, most_fields=5, most_bytes=_MOST_BYTES)).get("token")
        except BadInput:
            token = None
        if not isinstance(token, str) or "origin" not in request.headers:
            return _form(request, _UNKNOWN)
        try:
            session = await to_thread.run_sync(self._page.logins.open, token.strip())
        except NotAllowed as error:
            return _form(request, str(error))
        except StoreError as error:
            return _form(request, str(error), 503)
        if session is None:
            return _form(request, _UNKNOWN)
        answer = RedirectResponse("/", 303)
        cookie = self._page.cookie
        answer.set_cookie(cookie, session.id, max_age=HOURS * 3600, path="/", httponly=True, samesite="strict")
        return answer


def _form(request: Request, failed: str = "", status: int = 403) -> Response:
    values = {"nonce": request.scope["nonce"], "theme": theme_of(request), "failed": failed}
    return HTMLResponse(render("login.html", values), status if failed else 200)


def log_out(call: Call) -> Response:
    call.page.logins.close(call.session)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(call.page.cookie, path="/", httponly=True, samesite="strict")
    return answer


def choose_theme(call: Call) -> Response:
    wanted = call.given("theme")
    if wanted not in THEMES:
        raise BadInput(f"theme {wanted!r:.40} is unknown.", hint=f"Use {', '.join(THEMES)}.")
    answer = RedirectResponse(_path_of(call.request.headers.get("referer", "")), 303)
    answer.set_cookie(THEME_COOKIE, wanted, max_age=_YEAR, path="/", httponly=True, samesite="strict")
    return answer


def _path_of(address: str) -> str:
    """Return the path and query that a form was sent from, and never another server."""
    there = urlsplit(address)
    path = there.path if there.path.startswith("/") and not there.path.startswith("//") else "/"
    return f"{path}?{there.query}" if there.query else path
