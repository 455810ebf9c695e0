"""The time until something answers: commands against an empty Python, the server against an empty one of the same SDK.

Everything is started in turns, so that the noise of the machine falls on all of it. Limits in milliseconds are for a
machine that does nothing else. There a command takes about its CPU time, which hardly depends on what others do: so
that is what they are compared with. `cold` starts have no compiled bytecode of ours or of the SDK (an empty cache in a
folder of its own), as after an installation.
"""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from common import Figure, arguments, at_most, show_figures, table, write_json
from memsweep import open_memory
from stdio import ECHO, cpu_seconds

SERVER_SECONDS, SERVER_SHARE = 1.0, 0.6
QUICK_MS, SEARCH_MS = 80.0, 300.0
CLIENT = {"name": "startup", "version": "1"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
TALK: Sequence[tuple[int | None, str, dict[str, Any]]] = (
    (1, "initialize", HELLO),
    (None, "notifications/initialized", {}),
    (2, "tools/list", {}),
)


class Taken(NamedTuple):
    """Milliseconds until the answer."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Subject:
    """What is started, and how: a command to its end, or a server until it has said what tools it has."""

    name: str
    command: list[str]
    run: Callable[[list[str], dict[str, str]], Taken]


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
        Subject("memsweep where", [*memsweep, "where"], _to_its_end),
        Subject(
            "memsweep search", [*memsweep, "search", "which machine builds project 3", "-w", "default"], _to_its_end
        ),
        Subject("empty server", [*python, "-c", ECHO], _until_listed),
        Subject("memsweep serve", [*memsweep, "serve"], _until_listed),
    ]


def _in_turns(subjects: Sequence[Subject], starts: int, home: Path, cold: Path | None) -> dict[str, list[Taken]]:
    """Every start, by name; the first round fills the caches of the disk and does not count."""
    measured: dict[str, list[Taken]] = {subject.name: [] for subject in subjects}
    for turn in range(starts + 1):
        for subject in subjects:
            env = {**os.environ, "MEMSWEEP_HOME": str(home)}
            env.pop("PYTHONDONTWRITEBYTECODE", None)  # or every start would be a cold one
            if cold is not None:
                env["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(dir=cold)
            taken = subject.run(subject.command, env)
            measured[subject.name] += [taken] if turn else []
    return measured


def _to_its_end(command: list[str], env: dict[str, str]) -> Taken:
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken((time.perf_counter() - began) * 1000, cpu * 1000)


def _until_listed(command: list[str], env: dict[str, str]) -> Taken:
    """It goes on importing while it answers, so its CPU time is that of the whole process so far."""
    pipe, nowhere, began = subprocess.PIPE, subprocess.DEVNULL, time.perf_counter()
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=nowhere) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, method, params in TALK:
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            server.stdin.write(json.dumps(message if number is None else {**message, "id": number}).encode() + b"\n")
            server.stdin.flush()
            if number is not None and "result" not in json.loads(server.stdout.readline()):
                raise RuntimeError(f"{method} was refused")
        taken = Taken((time.perf_counter() - began) * 1000, 1000 * (cpu_seconds({server.pid}) or math.nan))
        server.kill()
    return taken


def report(measured: dict[str, list[Taken]], file: Path | None, **more: Any) -> None:
    rows = []
    for name, starts in measured.items():
        shown = (*medians(starts), min(each.wall for each in starts), min(each.cpu for each in starts))
        rows.append((name, *(f"{value:.0f}" for value in shown)))
    print(table(("from exec", "wall ms", "CPU ms", "least wall", "least CPU"), rows), end="\n\n")
    figures = judged(measured)
    show_figures(figures)
    write_json(file, "startup", figures, starts=measured, **more)


def medians(starts: Sequence[Taken]) -> Taken:
    return Taken(statistics.median(each.wall for each in starts), statistics.median(each.cpu for each in starts))


def judged(measured: dict[str, list[Taken]]) -> list[Figure]:
    median = {name: medians(starts) for name, starts in measured.items()}
    empty, served = median["empty Python"], median["memsweep serve"]
    commands = {"--version": QUICK_MS, "where": QUICK_MS, "search": SEARCH_MS}
    return [
        at_most("serve, to initialize and tools/list", served.wall / 1000, SERVER_SECONDS, "s"),
        at_most("serve / empty server", served.wall / median["empty server"].wall, SERVER_SHARE, "x"),
        *(at_most(f"{name}, CPU", median[f"memsweep {name}"].cpu, limit, "ms") for name, limit in commands.items()),
        *(Figure(f"{name} / empty Python", median[f"memsweep {name}"].wall / empty.wall, "x") for name in commands),
    ]


if __name__ == "__main__":
    main()
