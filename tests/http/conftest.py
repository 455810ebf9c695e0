"""One server for a whole file of tests, on each engine."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memsweep.app import App, make_app
from memsweep.settings import load_settings
from tests.support.engines import ENGINES, Home
from tests.support.http import HttpServer, serving

LIMITS = {"MEMSWEEP_HTTP_PATIENCE_SECONDS": "1"}


@pytest.fixture(scope="module", params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(str(request.param), tmp_path_factory.mktemp("served") / "home")
    yield home
    home.close()


@pytest.fixture(scope="module")
def beside(place: Home) -> Iterator[App]:
    """The same home from another process, as the command line sees it."""
    app = make_app(load_settings(place.variables))
    yield app
    app.close()


@pytest.fixture(scope="module")
def server(place: Home) -> Iterator[HttpServer]:
    log = place.folder.parent / "log"
    with serving(place.folder, log, "--profile", "full", **place.settings, **LIMITS) as running:
        yield running


@pytest.fixture(scope="module")
def tokens(beside: App, server: HttpServer) -> dict[str, str]:
    """Secrets by name, one of each kind."""
    beside.memory("mine").remember("The harbour opens at dawn.")
    beside.memory("other").remember("The vault is below the harbour office.")
    made = {
        "all": beside.tokens.create("all")[1],
        "mine": beside.tokens.create("mine", ["mine", "new"])[1],
        "other": beside.tokens.create("other", ["other"])[1],
        "reading": beside.tokens.create("reading", ["mine"], read_only=True)[1],
        "revoked": beside.tokens.create("revoked")[1],
        "unknown": "msw_" + "A" * 43,
        "malformed": "msw_x",
        "none": "",
    }
    beside.tokens.revoke("revoked")
    expired, made["expired"] = beside.tokens.draft("expired", days=1)
    assert expired.expires_at is not None
    beside.tokens.add(replace(expired, expires_at=expired.created_at - timedelta(seconds=1)))
    return made


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"
