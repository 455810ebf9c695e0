"""The time until something answers: commands against an empty Python, the server against an empty one of the same SDK.

Everything is started in turns, so that the noise of the machine falls on all of it. `cold` starts have no compiled
bytecode of ours or of the SDK (an empty cache in a folder of its own), as after an installation.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import Figure, arguments, at_most, show_figures, table, write_json
from memsweep import open_memory
from stdio import ECHO

SERVER_SECONDS, SERVER_SHARE = 1.0, 0.6
QUICK_MS, SEARCH_MS = 80.0, 300.0
CLIENT = {"name": "startup", "version": "1"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
TALK: Sequence[tuple[int | None, str, dict[str, Any]]] = (
    (1, "initialize", HELLO),
    (None, "notifications/initialized", {}),
    (2, "tools/list", {}),
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is started, and how: a command to its end, or a server until it has said what tools it has."""

    name: str
    command: list[str]
    run: Callable[[list[str], dict[str, str]], None]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--starts", type=int, default=15, help="timed starts of each (%(default)s)")
    parser.add_argument("--cold", action="store_true", help="without compiled bytecode")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memsweep-startup-") as folder:
        home = Path(folder) / "home"
        with open_memory("default", home=home) as memory:
            for number in range(100):
                memory.remember(f"Note {number}: the build of project {number % 7} runs on machine {number % 13}.")
        measured = _in_turns(_subjects(), options.starts, home, Path(folder) if options.cold else None)
    report(measured, options.json, cold=options.cold)


def _subjects() -> list[Subject]:
    python, memsweep = [sys.executable], [sys.executable, "-m", "memsweep"]
    return [
        Subject("empty Python", [*python, "-c", "pass"], _to_its_end),
        Subject("memsweep --version", [*memsweep, "--version"], _to_its_end),
        Subject("memsweep search", [*memsweep, "search", "which machine builds project 3"], _to_its_end),
        Subject("empty server", [*python, "-c", ECHO], _until_listed),
        Subject("memsweep serve", [*memsweep, "serve"], _until_listed),
    ]


def _in_turns(subjects: Sequence[Subject], starts: int, home: Path, cold: Path | None) -> dict[str, list[float]]:
    """Milliseconds of every start, by name; the first round fills the caches of the disk and does not count."""
    measured: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    for turn in range(starts + 1):
        for subject in subjects:
            env = {**os.environ, "MEMSWEEP_HOME": str(home)}
            if cold is not None:
                env["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(dir=cold)
            began = time.perf_counter()
            subject.run(subject.command, env)
            measured[subject.name] += [(time.perf_counter() - began) * 1000] if turn else []
    return measured


def _to_its_end(command: list[str], env: dict[str, str]) -> None:
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)


def _until_listed(command: list[str], env: dict[str, str]) -> None:
    """The time of ending it counts as well, and is nothing: it is killed."""
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=nowhere) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, method, params in TALK:
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            server.stdin.write(json.dumps(message if number is None else {**message, "id": number}).encode() + b"\n")
            server.stdin.flush()
            if number is not None and "result" not in json.loads(server.stdout.readline()):
                raise RuntimeError(f"{method} was refused")
        server.kill()


def report(measured: dict[str, list[float]], file: Path | None, **more: Any) -> None:
    rows = [(name, f"{min(times):.0f}", f"{statistics.median(times):.0f}") for name, times in measured.items()]
    print(table(("from exec", "least ms", "median ms"), rows), end="\n\n")
    figures = judged(measured)
    show_figures(figures)
    write_json(file, "startup", figures, starts=measured, **more)


def judged(measured: dict[str, list[float]]) -> list[Figure]:
    """Limits in milliseconds are for a machine that does nothing else: there the least counts, and the ratio always."""
    median = {name: statistics.median(times) for name, times in measured.items()}
    least = {name: min(times) for name, times in measured.items()}
    return [
        at_most("serve, to initialize and tools/list", least["memsweep serve"] / 1000, SERVER_SECONDS, "s"),
        at_most("serve / empty server", median["memsweep serve"] / median["empty server"], SERVER_SHARE, "x"),
        at_most("--version", least["memsweep --version"], QUICK_MS, "ms"),
        at_most("search", least["memsweep search"], SEARCH_MS, "ms"),
        *(
            Figure(f"{name.removeprefix('memsweep ')} / empty Python", median[name] / median["empty Python"], "x")
            for name in ("memsweep --version", "memsweep search")
        ),
    ]


if __name__ == "__main__":
    main()
