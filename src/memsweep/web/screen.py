"""Define a screen: a row in the navigation, and functions that answer its paths. Each gets a `Call`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memsweep.web.login import Notice
from memsweep.web.rendering import render

if TYPE_CHECKING:
    from datetime import datetime

    from starlette.datastructures import FormData
    from starlette.requests import Request

    from memsweep.services.memory import Memory
    from memsweep.web.login import Session
    from memsweep.web.page import WebPage

THEMES = ("light", "dark", "system")
THEME_COOKIE = "memsweep_theme"


def theme_of(request: Request) -> str:
    """Return the theme of the browser's cookie; the server renders it, so that no page flashes in other colours."""
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else "system"


@dataclass(frozen=True)
class Call:
    """One request of a session: what was asked, where, and how to answer. Runs in a thread, so it may wait."""

    page: WebPage
    request: Request
    session: Session
    workspace: str
    form: FormData
    screen: Screen | None = None

    @cached_property
    def memory(self) -> Memory:
        """The operations of the workspace; that of the project may still be empty, any other one must exist."""
        return self.page.app.memory(self.workspace)

    @cached_property
    def workspaces(self) -> list[str]:
        """Return the workspaces that this session may see."""
        return self.page.workspaces(self.session.grant)

    @cached_property
    def now(self) -> datetime:
        return self.page.app.clock()

    @cached_property
    def revision(self) -> str:
        """Another one whenever the workspace has changed."""
        return self.memory.revision()

    def part(self, name: str) -> str:
        """A part of the path, such as an id."""
        return str(self.request.path_params[name])

    def asked(self, name: str) -> str:
        """A value of the query; empty if there is none."""
        return self.request.query_params.get(name, "")

    def given(self, name: str) -> str:
        """A value of the form; empty if there is none."""
        value = self.form.get(name, "")
        return value if isinstance(value, str) else ""

    def all_given(self, name: str) -> frozenset[str]:
        return frozenset(value for value in self.form.getlist(name) if isinstance(value, str))

    def whole_number(self, name: str, *, least: int = 1, otherwise: int = 1) -> int:
        """A number of the query; what is none counts as not given."""
        text = self.asked(name)
        return max(least, int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise

    def url(self, path: str = "/", **query: object) -> str:
        """A path of this workspace; what is empty is left out of the query."""
        asked = {name: value for name, value in query.items() if value not in ("", None)}
        return f"/w/{self.workspace}{quote(path)}" + (f"?{urlencode(asked)}" if asked else "")

    def next_page(self, path: str, cursor: str | None, **query: object) -> str:
        """The path of the page that a cursor leads to; empty after the last one."""
        return self.url(path, **query, after=cursor) if cursor else ""

    def show(self, template: str, status: int = 200, **values: Any) -> Response:
        """A template with the frame around it."""
        return HTMLResponse(render(template, self._frame() | values), status)

    def go(self, path: str, said: str = "", *, receipt_id: str = "", **query: object) -> Response:
        """On to another page, which says what happened; a form is never sent twice by reloading."""
        noted = self.session.note(Notice(said, receipt_id)) if said else ""
        return RedirectResponse(self.url(path, **query, did=noted), 303)

    def _frame(self) -> dict[str, Any]:
        from memsweep.web.screens import SCREENS

        return {
            "call": self,
            "url": self.url,
            "now": self.now,
            "csrf_field": Markup('<input type="hidden" name="csrf" value="{}">').format(self.session.csrf),
            "nonce": self.request.scope["nonce"],
            "theme": theme_of(self.request),
            "themes": THEMES,
            "screens": [each for each in SCREENS if each.icon],
            "here": self.screen,
            "workspace": self.workspace,
            "workspaces": self.workspaces,
            "read_only": self.session.grant.read_only,
            "notice": self.session.notices.get(self.asked("did")),
        }


Handler = Callable[[Call], Response]


@dataclass(frozen=True, slots=True)
class Screen:
    """A module of `screens/`. `shows` read; `acts` change something and are refused to whoever may only read."""

    name: str
    title: str
    path: str
    icon: str = ""
    """None: not in the navigation."""
    key: str = ""
    """The letter that leads here, after a g."""
    shows: Mapping[str, Handler] = field(default_factory=dict)
    acts: Mapping[str, Handler] = field(default_factory=dict)
    notes: Mapping[str, Handler] = field(default_factory=dict)
    """Posted as well, but only the session remembers it."""
    group: int = 0
    on_phone: bool = False
    """Whether it has a place in the bar at the bottom of a phone; the others are behind `More`."""
