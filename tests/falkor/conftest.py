from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.falkor.servers import Start
from tests.support import falkor
from tests.support.falkor import Server


@pytest.fixture(scope="session", autouse=True)
def _where_it_can_run() -> None:
    if not falkor.can_run():
        pytest.skip("falkordblite needs Python 3.12")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers that end with the test."""
    made: list[Server] = []

    def one(*options: str, **more: object) -> Server:
        made.append(Server(tmp_path / f"server{len(made)}", *options, **more))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for server in made:
        server.stop()
