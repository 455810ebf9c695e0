from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.falkor.servers import Start
from tests.support.falkor import Server


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
