"""Real server processes, one for each generation of the protocol and each file of tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.client import TRIED_MODES, ServerClient, connected
from tests.support.engines import Home


@pytest.fixture(scope="module", params=TRIED_MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def served_home(tmp_path_factory: pytest.TempPathFactory, mode: str) -> Path:
    return tmp_path_factory.mktemp("served") / "home"


@pytest.fixture(scope="module")
def served_engine() -> str:
    """Which engine the server has; a file of tests may want several."""
    return "sqlite"


@pytest.fixture(scope="module")
def log(served_home: Path) -> Path:
    return served_home.parent / "log"


@pytest.fixture(scope="module")
def server(served_home: Path, served_engine: str, mode: str, log: Path) -> Iterator[ServerClient]:
    """The full profile: every tool there is."""
    home = Home(served_engine, served_home)
    with connected(served_home, mode, "--profile", "full", log=log, **home.settings) as client:
        yield client
    home.close()
    assert "Traceback" not in log.read_text()  # whatever went wrong unseen
