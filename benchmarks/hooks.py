"""How long a client waits for each event of `memsweep hook`, beside an empty Python, at several numbers of memories.

Every event is a process of its own, as a client starts it, in turns with an empty Python. What events leave to the
background is done between the turns and is not counted. The limit is for a machine that does nothing else: there an
event takes about its CPU time, which hardly depends on what others do, so both are shown.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import Figure, arguments, at_most, blend, conversations_from, percentile, show_figures, table, write_json
from memsweep import open_memory
from memsweep.hooks.event import DRAIN, EVENTS
from memsweep.hooks.files import HookFiles

SIZES = (0, 1_000, 10_000)
LIMIT_MS = 150.0
EMPTY = "empty Python"
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
    measured: dict[int, Measured] = {}
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="memsweep-hooks-") as folder:
            home = Path(folder) / "home"
            with open_memory(WORKSPACE, home=home) as memory:
                for turn in blend(conversations, size) if size else ():
                    memory.remember(turn.text, thread_id=turn.thread)
            measured[size] = in_turns(Path(folder), home, questions, options.turns)
    print(f"{what}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    report(measured, options.json)


def in_turns(folder: Path, home: Path, questions: Sequence[str], turns: int) -> Measured:
    """Each event in a session of its own; the first round fills the caches of the disk and does not count."""
    measured: Measured = {name: [] for name in (EMPTY, *EVENTS)}
    env = {**os.environ, "MEMSWEEP_HOME": str(home), "MEMSWEEP_WORKSPACE": WORKSPACE}
    for turn in range(turns + 1):
        _grow(folder / "transcript.jsonl", turn)
        for name in measured:
            said = _said(folder, turn, questions[turn % len(questions)])
            command = ["-c", "pass"] if name == EMPTY else ["-m", "memsweep", "hook", name]
            taken = _timed([sys.executable, *command], env, json.dumps({**said, "hook_event_name": name}).encode())
            measured[name] += [taken] if turn else []
            _wait_for_the_background(HookFiles(home))
    return measured


def _said(folder: Path, turn: int, prompt: str) -> dict[str, Any]:
    return {
        "session_id": f"session {turn}",
        "cwd": str(folder),
        "transcript_path": str(folder / "transcript.jsonl"),
        "prompt": prompt,
        "tool_name": "Edit",
        "tool_input": {"file_path": str(folder / "a.py")},
    }


def _grow(path: Path, turn: int) -> None:
    with path.open("a") as file:
        for part, role in enumerate(("user", "assistant")):
            message = {"role": role, "content": f"Step {turn}: the parser reads line {turn} and goes on."}
            own = {"type": role, "uuid": f"u{turn}-{part}", "timestamp": "2026-11-17T10:00:00Z", "message": message}
            file.write(json.dumps(own) + "\n")


def _timed(command: Sequence[str], env: Mapping[str, str], given: bytes) -> Taken:
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, input=given, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(wall * 1000, cpu * 1000)


def _wait_for_the_background(files: HookFiles) -> None:
    """Each event that leaves work behind starts a process, which notes its run as the last thing it does."""
    while True:
        done = Counter(run["outcome"] if run["event"] != DRAIN else DRAIN for run in files.runs())
        if done[DRAIN] >= sum(done[left] for left in LEFT):
            return
        time.sleep(0.01)


def report(measured: Mapping[int, Measured], file: Path | None) -> None:
    rows, figures = [], []
    for size, events in measured.items():
        empty = percentile([taken.cpu for taken in events[EMPTY]], 0.5)
        for name, runs in events.items():
            wall, cpu = [run.wall for run in runs], [run.cpu for run in runs]
            shown = [percentile(of, share) for of in (wall, cpu) for share in (0.5, 0.95)]
            ratio = percentile(cpu, 0.5) / empty
            rows.append((name, f"{size:,}", *(f"{each:.0f}" for each in shown), f"{ratio:.1f}"))
            if name != EMPTY:
                figures.append(at_most(f"{name}, {size:,} memories, wall p95", shown[1], LIMIT_MS, "ms"))
                figures.append(Figure(f"{name}, {size:,} memories, CPU p50", shown[2], "ms"))
    print(table(("event", "memories", "wall p50", "p95", "CPU p50", "p95", "x empty"), rows), end="\n\n")
    show_figures(figures)
    write_json(file, "hooks", figures, runs={str(size): events for size, events in measured.items()})


if __name__ == "__main__":
    main()
