"""A filled home, made once and copied for every test, and the command line on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep import cli
from tests.care import stores
from tests.support.commands import Ran


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    stores.fill(home)
    return home


@pytest.fixture
def filled(template: Path, home: Path) -> Path:
    """The file of a filled workspace that nobody has open."""
    return stores.copy_of(template, home)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path) -> Callable[..., Ran]:
    """Run a command line on the home: `run("doctor", "--repair")`."""
    monkeypatch.setenv("MEMSWEEP_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "200")

    def run_one(*arguments: str) -> Ran:
        status = cli.run(arguments)
        out, err = capsys.readouterr()
        return Ran(status, out.encode(), err)

    return run_one
