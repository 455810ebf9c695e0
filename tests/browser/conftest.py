"""A real browser on the real page. `make test-browser` finds or installs one; elsewhere these tests are left out."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, Memory
from memsweep.web.login import OneTimeLink
from memsweep.web.serving import address_of, listen, page_server
from tests.browser.seed import seeded

BROWSER = os.environ.get("MEMSWEEP_BROWSER", "")
ROOT = Path(__file__).parents[2]
FONTS = ROOT / ".browser" / "fonts.conf"
WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
collect_ignore_glob = [] if BROWSER else ["test_*.py"]


@contextmanager
def serving(app: App, port: int = 0) -> Iterator[tuple[str, str]]:
    """The page in a thread: its address, and the link that opens it."""
    link = OneTimeLink()
    with listen(port) as listener:
        server = page_server(app, link, listener)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        opening = address_of(listener, link)
        try:
            yield opening.partition("/login")[0], opening
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    made = seeded(tmp_path_factory.mktemp("page") / "home")
    yield made
    made.close()


@contextmanager
def launched() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    environment = {**os.environ, **({"FONTCONFIG_FILE": str(FONTS)} if FONTS.exists() else {})}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"], env=environment)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def logged_in(app: App, chromium: Any) -> Iterator[tuple[str, Any]]:
    """The address of the page, and the cookies of a browser that followed the link."""
    with serving(app) as (address, link):
        context = chromium.new_context()
        page = context.new_page()
        page.goto(link)
        page.wait_for_url(f"{address}/w/**")
        state = context.storage_state()
        context.close()
        yield address, state


@dataclass
class Tab:
    """One tab of somebody who is logged in; what went wrong in it is kept."""

    page: Any
    address: str
    workspace: str
    memory: Memory
    has_script: bool = True
    errors: list[str] = field(default_factory=list)

    def go(self, path: str) -> Any:
        """A screen, with the parts that come later."""
        self.page.goto(f"{self.address}/w/{self.workspace}{path}")
        if self.has_script:
            self.page.locator("[data-later], [aria-busy=true]").first.wait_for(state="detached")
        return self.page


@pytest.fixture
def tab(
    app: App, chromium: Any, logged_in: tuple[str, Any], request: pytest.FixtureRequest
) -> Iterator[Callable[..., Tab]]:
    """Tabs on a copy of the workspace: `tab()`, `tab(NARROW, "dark")`. Nothing may go wrong in any."""
    address, state = logged_in
    workspace = f"t{abs(hash(request.node.name)) % 10**9}"
    app.copy_workspace("seed", "", "", new_name=workspace)
    opened: list[tuple[Any, Tab]] = []

    def open_one(size: dict[str, int] = WIDE, theme: str = "light", state: Any = state, **options: Any) -> Tab:
        context = chromium.new_context(
            viewport=size, color_scheme=theme, storage_state=state, locale="en-GB", reduced_motion="reduce", **options
        )
        made = Tab(
            context.new_page(), address, workspace, app.memory(workspace), options.get("java_script_enabled", True)
        )
        made.page.on("pageerror", lambda error: made.errors.append(str(error)))
        made.page.on("console", lambda said: made.errors.append(said.text) if said.type == "error" else None)
        opened.append((context, made))
        return made

    yield open_one
    for context, made in opened:
        context.close()
        assert made.errors == []
    app.delete_workspace(workspace, confirm=True)
