"""A browser without a window: the page behind its guard, in this process, with what a browser sends by itself."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from html import unescape
from typing import Any

import pytest
from httpx import Response
from starlette.testclient import TestClient

from memsweep.app import App
from memsweep.web.guard import GuardedApp, make_guard
from memsweep.web.login import Grant, OneTimeLink
from memsweep.web.page import make_page

PORT = 8737
HOME = f"http://127.0.0.1:{PORT}"
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


class Browser:
    """One that is logged in; `see` and `do` follow redirects, as people do."""

    def __init__(self, client: TestClient, link: OneTimeLink, workspace: str = "default") -> None:
        self.client, self.workspace = client, workspace
        self.page = self.post("/login", token=link.token)

    def see(self, path: str, **headers: str) -> Response:
        """A screen of the workspace, or any other path that begins with two slashes."""
        self.page = self.client.get(self._address(path), headers=headers)
        return self.page

    def do(self, path: str, **fields: Any) -> Response:
        """A form of the page that is open now."""
        found = _CSRF.search(self.page.text)
        self.page = self.post(self._address(path), csrf=found.group(1) if found else "", **fields)
        return self.page

    def post(self, path: str, origin: str = HOME, **fields: Any) -> Response:
        return self.client.post(path, data=fields, headers={"origin": origin} if origin else {})

    def _address(self, path: str) -> str:
        return path[1:] if path.startswith("//") else f"/w/{self.workspace}{path}"

    @property
    def text(self) -> str:
        """What the page says, without its markup."""
        main = self.page.text.partition("<main")[2]
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", f"<main{main}")).split())


@pytest.fixture
def browse(app: App) -> Iterator[Callable[..., Browser]]:
    """Browsers that are logged in: `browse(grant=Grant(read_only=True), workspace="x")`."""
    with ExitStack() as stack:

        def open_one(grant: Grant | None = None, workspace: str = "default") -> Browser:
            link = OneTimeLink(grant)
            served = GuardedApp(make_page(app, link.redeem, PORT), make_guard(PORT))
            client = stack.enter_context(TestClient(served, base_url=HOME))
            return Browser(client, link, workspace)

        yield open_one


@pytest.fixture
def browser(browse: Callable[..., Browser]) -> Browser:
    return browse()
