"""How long a client waits for each event of `memsweep hook`, beside an empty Python, at several numbers of memories.

Every event is a process of its own, as a client starts it, in turns with an empty Python: alone, and where a server of
the same home runs, as the plugin starts one for each session. What events leave to the background is done between the
turns and is not counted. The limit is for a machine that does nothing else: there an event takes about its CPU time,
which hardly depends on what others do, so both are shown; the CPU time of the server is not among it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from common import Figure, arguments, at_most, blend, conversations_from, percentile, show_figures, table, write_json
from memsweep import open_memory
from memsweep.hooks.event import DRAIN, EVENTS
from memsweep.project.runs import runs as runs_in
from startup import TALK

SIZES = (0, 1_000, 10_000)
LIMIT_MS = 150.0
EMPTY = "empty Python"
ANEW = "SessionStart, made anew"
"""Where no briefing was made ahead, or something has changed since."""
WORKSPACE = "hooks"
LEFT = ("reads the transcript", "refreshes the index")
"""Outcomes of events that start a process in the background."""


class Taken(NamedTuple):
    """Milliseconds until the end of the process."""

    wall: float
    cpu: float


Measured = dict[str, list[Taken]]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=20, help="timed runs of each event (%(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of memories")
    options = parser.parse_args()
    conversations, what = conversations_from(options.data)
    questions = [question.text for conversation in conversations for question in conversation.questions]
    measured: dict[tuple[int, str], Measured] = {}
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="memsweep-hooks-") as folder:
            bench = Bench(Path(folder), Path(folder) / "home")
            with open_memory(WORKSPACE, home=bench.home) as memory:
                for turn in blend(conversations, size) if size else ():
                    memory.remember(turn.text, thread_id=turn.thread)
            measured[size, "alone"] = bench.in_turns("alone", questions, options.turns)
            with bench.server():
                measured[size, "server"] = bench.in_turns("server", questions, options.turns)
    print(f"{what}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    report(measured, options.json)


@dataclass(frozen=True, slots=True)
class Bench:
    """A home, and the folder that it and everything else lie in."""

    folder: Path
    home: Path

    def in_turns(self, pass_name: str, questions: Sequence[str], turns: int) -> Measured:
        """Each event in a session of its own; the first round fills the caches of the disk and does not count."""
        measured: Measured = {name: [] for name in (EMPTY, ANEW, *EVENTS)}
        for turn in range(turns + 1):
            _grow(self.folder / "transcript.jsonl", f"{pass_name} {turn}")
            for name in measured:
                said = _said(self.folder, f"{pass_name} {turn} {name}", questions[turn % len(questions)])
                if name == ANEW:
                    self._forget_briefings()
                taken = self._timed(name, json.dumps({**said, "hook_event_name": name}).encode())
                measured[name] += [taken] if turn else []
                _wait_for_the_background(self.home)
        return measured

    @contextlib.contextmanager
    def server(self) -> Iterator[None]:
        """One that has said what tools it has, and listens to hooks."""
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [sys.executable, "-m", "memsweep", "serve"], env=self._env, stdin=pipe, stdout=pipe
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            for number, method, params in TALK:
                message = {"jsonrpc": "2.0", "method": method, "params": params}
                server.stdin.write(json.dumps(message if number is None else {**message, "id": number}).encode())
                server.stdin.write(b"\n")
                server.stdin.flush()
                if number is not None:
                    server.stdout.readline()
            while not list(self.home.glob("hooks/servers/*.sock")):
                time.sleep(0.01)
            yield
            server.stdin.close()

    @property
    def _env(self) -> dict[str, str]:
        env = {**os.environ, "MEMSWEEP_HOME": str(self.home), "MEMSWEEP_WORKSPACE": WORKSPACE}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # or every start would compile all of it
        return env

    def _forget_briefings(self) -> None:
        for path in self.home.glob("hooks/sessions/*.briefing.json"):
            path.unlink()

    def _timed(self, name: str, given: bytes) -> Taken:
        event = name.partition(",")[0]
        command = ["-c", "pass"] if name == EMPTY else ["-m", "memsweep", "hook", event]
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], env=self._env, input=given, stdout=subprocess.DEVNULL, check=True)
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Taken(wall * 1000, cpu * 1000)


def _said(folder: Path, session: str, prompt: str) -> dict[str, Any]:
    return {
        "session_id": session,
        "cwd": str(folder),
        "transcript_path": str(folder / "transcript.jsonl"),
        "prompt": prompt,
        "tool_name": "Edit",
        "tool_input": {"file_path": str(folder / "a.py")},
    }


def _grow(path: Path, turn: str) -> None:
    with path.open("a") as file:
        for part, role in enumerate(("user", "assistant")):
            message = {"role": role, "content": f"Step {turn}: the parser reads line {turn} and goes on."}
            own = {"type": role, "uuid": f"u{turn}-{part}", "timestamp": "2026-11-17T10:00:00Z", "message": message}
            file.write(json.dumps(own) + "\n")


def _wait_for_the_background(home: Path) -> None:
    """Each event that leaves work behind starts a process, which notes its run as the last thing it does."""
    while True:
        done = Counter(run["outcome"] if run["event"] != DRAIN else DRAIN for run in runs_in(home))
        if done[DRAIN] >= sum(done[left] for left in LEFT):
            return
        time.sleep(0.01)


def report(measured: Mapping[tuple[int, str], Measured], file: Path | None) -> None:
    rows, figures = [], []
    for (size, beside), events in measured.items():
        empty = percentile([taken.cpu for taken in events[EMPTY]], 0.5)
        for name, runs in events.items():
            wall, cpu = [run.wall for run in runs], [run.cpu for run in runs]
            shown = [percentile(of, share) for of in (wall, cpu) for share in (0.5, 0.95)]
            ratio = percentile(cpu, 0.5) / empty
            rows.append((name, beside, f"{size:,}", *(f"{each:.0f}" for each in shown), f"{ratio:.1f}"))
            if name != EMPTY:
                which = f"{name}, {beside}, {size:,} memories"
                figures.append(at_most(f"{which}, wall p95", shown[1], LIMIT_MS, "ms"))
                figures.append(Figure(f"{which}, CPU p50", shown[2], "ms"))
    print(table(("event", "beside", "memories", "wall p50", "p95", "CPU p50", "p95", "x empty"), rows), end="\n\n")
    show_figures(figures)
    runs_of = {f"{size} {beside}": events for (size, beside), events in measured.items()}
    write_json(file, "hooks", figures, runs=runs_of)


if __name__ == "__main__":
    main()
