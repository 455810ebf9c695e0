"""Run `memsweep` and Python as a user would: in a process of its own."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import unprivileged
from tests.support.environment import ROOT, environment
from tests.support.waiting import PATIENCE
from tests.support.warm_python import warm_python

__all__ = ["MEMSWEEP", "ORDINARY", "ROOT", "Ran", "environment", "memsweep", "run", "run_warm"]

MEMSWEEP = [sys.executable, "-m", "memsweep"]
ORDINARY = [sys.executable, "-S", "-E", unprivileged.__file__]


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


def run(
    arguments: list[str],
    *,
    home: Path | str | None,
    stdin: bytes = b"",
    as_ordinary_user: bool = False,
    cwd: Path | None = None,
    **more: str,
) -> Ran:
    """Run a command to its end; never a traceback."""
    command = [*ORDINARY, *arguments] if as_ordinary_user else arguments
    done = subprocess.run(
        command, input=stdin, capture_output=True, env=environment(home, **more), cwd=cwd, timeout=PATIENCE, check=False
    )
    if as_ordinary_user and done.returncode == unprivileged.CANNOT:
        pytest.skip("root cannot become an ordinary user here")
    err = done.stderr.decode(errors="replace")
    assert "Traceback" not in err, err
    return Ran(done.returncode, done.stdout, err)


def memsweep(*arguments: str, home: Path | str | None, executed: bool = False, **options: Any) -> Ran:
    """The command line in a process; `executed` for tests of how it starts, as it always is for an ordinary user."""
    python = MEMSWEEP[:1] if executed or options.get("as_ordinary_user") else warm_python()
    return run([*python, *MEMSWEEP[1:], *arguments], home=home, **options)


def run_warm(*arguments: str, home: Path | str | None = None, **options: Any) -> Ran:
    """Python with these arguments, for tests that are not about how a process starts; it has all imported already."""
    return run([*warm_python(), *arguments], home=home, **options)
