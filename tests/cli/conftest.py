"""The command line in this process, which is quicker; what needs a process of its own is in test_process.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep import cli
from tests.support.commands import Ran


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path) -> Callable[..., Ran]:
    """Run a command line on the home: `run("search", "x")`."""
    monkeypatch.setenv("MEMSWEEP_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "200")

    def run_one(*arguments: str) -> Ran:
        status = cli.run(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ran(status, out.encode("utf-8", "surrogateescape"), err)

    return run_one
