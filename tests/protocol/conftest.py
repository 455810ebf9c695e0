"""These tests need the Inspector and the conformance suite, which `make test-protocol` installs and names."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.environment import environment
from tests.support.http import HttpServer
from tests.support.waiting import PATIENCE

collect_ignore_glob = [] if os.environ.get("MEMSWEEP_PROTOCOL_TOOLS") else ["test_*.py"]
Program = Callable[..., subprocess.CompletedProcess[str]]
TOOLS = Path(os.environ.get("MEMSWEEP_PROTOCOL_TOOLS", "")) / "node_modules" / ".bin"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs one of them to its end, in a folder and with a HOME of its own."""

    def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = environment(tmp_path / "memory", HOME=str(tmp_path), PATH=f"{TOOLS}{os.pathsep}{os.environ['PATH']}")
        command = [str(TOOLS / name), *arguments]
        return subprocess.run(
            command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    return run


@pytest.fixture(scope="module")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """Our server with the suite's fixtures."""
    folder = tmp_path_factory.mktemp("fixtures")
    server = HttpServer(folder / "home", folder / "log", ["0"], module="tests.protocol.fixture_server")
    yield server
    server.end()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """The server as it is."""
    folder = tmp_path_factory.mktemp("served")
    server = HttpServer(folder / "home", folder / "log", ["--profile", "full"])
    yield server
    server.end()
