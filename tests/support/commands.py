"""Run `memsweep` and Python as a user would: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import unprivileged

ROOT = Path(__file__).resolve().parent.parent.parent
MEMSWEEP = [sys.executable, "-m", "memsweep"]
_OF_THE_MACHINE = ("MEMSWEEP_", "OPENAI_", "CLAUDE_", "PYTEST_")
ORDINARY = [sys.executable, "-S", "-E", unprivileged.__file__]


def environment(home: Path | str | None, **more: str) -> dict[str, str]:
    """The environment of a child: ours without our settings, with this home."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_OF_THE_MACHINE)}
    given = {} if home is None else {"MEMSWEEP_HOME": str(home)}
    path = os.pathsep.join([*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(ROOT)]).strip(os.pathsep)
    return {**kept, "PYTHONPATH": path, "COLUMNS": "200", **given, **more}


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
        command, input=stdin, capture_output=True, env=environment(home, **more), cwd=cwd, timeout=120, check=False
    )
    if as_ordinary_user and done.returncode == unprivileged.CANNOT:
        pytest.skip("root cannot become an ordinary user here")
    err = done.stderr.decode(errors="replace")
    assert "Traceback" not in err, err
    return Ran(done.returncode, done.stdout, err)


def memsweep(*arguments: str, home: Path | str | None, **options: Any) -> Ran:
    return run([*MEMSWEEP, *arguments], home=home, **options)
