"""The page: its routes, who may take them, and how errors are answered. `make_page` gives what a server serves."""

from __future__ import annotations

import mimetypes
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from anyio import to_thread
from starlette.datastructures import FormData
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from memsweep import __version__, deadline
from memsweep.app import App, called_by
from memsweep.errors import BadInput, Conflict, MemsweepError, NotAllowed, NotFound, StoreError, UnknownWorkspace
from memsweep.model.ids import check_name
from memsweep.model.origin import Origin
from memsweep.web.guard import MOST_BODY_BYTES, Shares
from memsweep.web.login import HOURS, Grant, Logins, Redeem, Session, is_same
from memsweep.web.rendering import STATIC, render
from memsweep.web.screen import THEME_COOKIE, THEMES, Call, Handler, Screen, theme_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


BY_PAGE = Origin("page", "memsweep", __version__, tier="person")
_PREFIX = "/w/{workspace}"
_KEPT_FOR = timedelta(minutes=1)
_DAY = 86_400
_STATUS: Mapping[type[MemsweepError], int] = {
    NotAllowed: 403,
    NotFound: 404,
    BadInput: 400,
    Conflict: 409,
    StoreError: 503,
}


class WebPage:
    """The state that all requests share: the app, the sessions, and results that were costly to find."""

    def __init__(self, app: App, redeem: Redeem, port: int, clock: Callable[[], float] = time.time) -> None:
        self.app, self.cookie = app, f"memsweep_{port}"
        self.logins = Logins(redeem, clock)
        self._kept: dict[tuple[str, str], tuple[str, datetime, Any]] = {}

    def workspaces(self, grant: Grant) -> list[str]:
        """Return the visible workspaces; those of the project and of a token even before anything is stored."""
        named = {*self._made(), self.app.workspace_id, *(grant.workspaces or ())}
        return sorted(name for name in named if grant.covers(name))

    def is_made(self, workspace: str) -> bool:
        """Return whether anything was ever stored there."""
        return workspace in self._made()

    def _made(self) -> list[str]:
        return [each.id for each in self.app.workspaces()]

    def usual(self, grant: Grant) -> str:
        """The workspace where a visit begins: that of the project, or the first that may be looked at."""
        names, own = self.workspaces(grant), self.app.workspace_id
        return own if own in names or not names else names[0]

    def kept(self, call: Call, name: str, find: Callable[[], Any]) -> Any:
        """Return a costly result, found again when the workspace has changed; and after a while, for dates pass."""
        if not self.is_kept(call, name):
            self._kept[call.workspace, name] = (call.revision, call.now, find())
        return self._kept[call.workspace, name][2]

    def is_kept(self, call: Call, name: str) -> bool:
        known = self._kept.get((call.workspace, name))
        return known is not None and known[0] == call.revision and abs(call.now - known[1]) < _KEPT_FOR

    def session(self, request: Request) -> Session | None:
        return self.logins.find(request.cookies.get(self.cookie, ""))


def make_page(app: App, redeem: Redeem, port: int) -> ASGIApp:
    """The page as an ASGI application, to be served behind `Guarded`."""
    return WithPolicy(GZipMiddleware(Router(routes(WebPage(app, redeem, port))), minimum_size=800))


def routes(page: WebPage) -> list[Route]:
    """Everything but the login and the files is open to sessions alone."""
    from memsweep.web.screens import SCREENS

    entrance = Entrance(page)
    made = [
        Route("/login", entrance.show, methods=["GET"]),
        Route("/login", entrance.log_in, methods=["POST"]),
        Route("/static/{name}", static_file, methods=["GET"]),
        Route("/", _Endpoint(page, _home), methods=["GET"]),
        Route("/logout", _Endpoint(page, log_out), methods=["POST"]),
        Route("/theme", _Endpoint(page, choose_theme), methods=["POST"]),
    ]
    for screen in SCREENS:
        made += [_route(page, screen, each, "GET") for each in screen.shows.items()]
        made += [_route(page, screen, each, "POST", changes=True) for each in screen.acts.items()]
        made += [_route(page, screen, each, "POST") for each in screen.notes.items()]
    return [*made, Route("/{rest:path}", _Endpoint(page, _nowhere), methods=["GET", "POST"])]


def _route(page: WebPage, screen: Screen, answer: tuple[str, Handler], method: str, *, changes: bool = False) -> Route:
    path, handler = answer
    return Route(_PREFIX + path, _Endpoint(page, handler, screen, changes=changes), methods=[method])


class _Endpoint:
    """Asks whether a request may come in, then lets its handler answer in a thread."""

    def __init__(self, page: WebPage, handler: Handler, screen: Screen | None = None, *, changes: bool = False) -> None:
        self._page, self._handler, self._screen, self._changes = page, handler, screen, changes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(Request(scope, receive, send))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        session = await to_thread.run_sync(self._page.session, request)
        if session is None:
            return _ask_to_log_in(request)
        form, problem = FormData(), None
        if request.method == "POST":
            try:
                form = await read_form(request)
            except BadInput as error:
                problem = error
        try:
            return await to_thread.run_sync(self._handled, request, session, form, problem)
        except StoreError as error:  # which has the names for the frame of an error, too
            return PlainTextResponse(f"{error}\n", _STATUS[StoreError])

    def _handled(
        self, request: Request, session: Session, form: FormData, problem: MemsweepError | None = None
    ) -> Response:
        workspace = request.path_params.get("workspace") or self._page.usual(session.grant)
        call = Call(self._page, request, session, workspace, form, self._screen)
        try:
            if problem is not None:
                raise problem
            _refuse(call, changes=self._changes)
            limit = nullcontext() if session.grant.is_owner else deadline.at_most(deadline.CALL_SECONDS)
            with called_by(BY_PAGE), session.grant.within(), limit:
                if self._screen and request.method == "GET" and not self._page.is_made(workspace):
                    return call.show("welcome.html")
                return self._handler(call)
        except MemsweepError as error:
            return _failed(call, error)


def _refuse(call: Call, *, changes: bool) -> None:
    """A form of another site, of another session, or of somebody who may only look."""
    check_name(call.workspace)
    if call.workspace not in call.workspaces:
        raise UnknownWorkspace(f"workspace {call.workspace!r} does not exist, or this login has no access to it.")
    if call.request.method != "POST":
        return
    # The guard has compared the Origin; browsers send one with every form.
    if "origin" not in call.request.headers or not is_same(call.form.get("csrf"), call.session.csrf):
        raise NotAllowed("this form is from before you logged in, or not from this page.", hint="Load the page again.")
    if changes and call.session.grant.read_only:
        raise NotAllowed("this login can read, but not change anything.", hint="Log in with a token that can write.")


def _failed(call: Call, error: MemsweepError) -> Response:
    """In the frame of the workspace, or of the usual one where that is not there."""
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    if call.workspace not in call.workspaces:
        call = replace(call, workspace=call.page.usual(call.session.grant))
    return call.show("error.html", status, error=error, code=status)


def _ask_to_log_in(request: Request) -> Response:
    """To the login; the script is told, so that it can load the page anew."""
    if request.headers.get("sec-fetch-mode", "navigate") == "navigate":
        return RedirectResponse("/login", 303)
    return Response(status_code=401)


def _home(call: Call) -> Response:
    return RedirectResponse(call.url("/"), 303)


def _nowhere(call: Call) -> Response:
    raise NotFound("there is no such page.", hint="Use the navigation to find one.")


async def static_file(request: Request) -> Response:
    found = _files().get(request.path_params["name"])
    if found is None:
        return Response("There is no such file.", 404, media_type="text/plain")
    content, kind = found
    return Response(content, media_type=kind, headers={"cache-control": f"private, max-age={_DAY}"})


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    kinds = {path.name: mimetypes.types_map.get(path.suffix, "text/plain") for path in STATIC.iterdir()}
    return {name: ((STATIC / name).read_bytes(), kind) for name, kind in kinds.items()}


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
    """Return whether a page of another site fetches this, rather than leading somebody to it."""
    said = dict(scope["headers"])
    if said.get(b"sec-fetch-site", b"none") not in (b"cross-site", b"same-site"):
        return False
    return said.get(b"sec-fetch-mode") != b"navigate" or said.get(b"sec-fetch-dest") != b"document"


# In and out: the login, the logout, and what a browser remembers of its own.

_YEAR = 31_536_000
_MOST_BYTES = 4096
_MOST_AT_ONCE = 64
_UNKNOWN = "That is no link of this server. Run memsweep ui again for a new one."


class Entrance:
    """The only paths that are open to somebody without a session."""

    def __init__(self, page: WebPage) -> None:
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


# Forms hold text alone, so nothing else is read: no files, no other form of body. They are read here and not by the
# framework: its parser works in the event loop, where 14 MB of `&` stop every other request for a quarter of a minute,
# and takes the encoding that a client names.

MOST_FIELDS = 50_000
_KIND = "application/x-www-form-urlencoded"


async def read_form(request: Request, most_fields: int = MOST_FIELDS, most_bytes: int = MOST_BODY_BYTES) -> FormData:
    """Return the fields of a form; bytes that are no UTF-8 become text that equals no stored text or token."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise BadInput(f"this page sends its forms as {_KIND}, and this is {kind or 'nothing'!r:.60}.")
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > most_bytes:
                raise BadInput(f"this form has more than {most_bytes:,} bytes.", hint="Take fewer at once.")
    except ClientDisconnect:
        raise BadInput("this form arrived incomplete.", hint="Send it again.") from None
    return await to_thread.run_sync(_fields_of, bytes(body), most_fields)


def _fields_of(body: bytes, most: int) -> FormData:
    try:
        given: list[tuple[str, Any]] = [*parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=most)]
    except ValueError as error:
        raise BadInput(f"this form has more than {most:,} fields.", hint="Take fewer at once.") from error
    return FormData(given)
