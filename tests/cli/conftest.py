"""The command line in this process, which is quicker; what needs a process of its own is in test_process.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memsweep import cli
from tests.support.commands import Ran
from tests.support.engines import Home


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path, engine_kind: str
) -> Iterator[Callable[..., Ran]]:
    """Run a command line on the home: `run("search", "x")`."""
    place = Home(engine_kind, home)
    for name, value in place.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "200")

    def run_one(*arguments: str) -> Ran:
        status = cli.run(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ran(status, out.encode("utf-8", "surrogateescape"), err)

    yield run_one
    place.close()
