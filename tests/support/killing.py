"""The harness of all tests that kill an operation at each of its steps.

A child does the operation on a copy of the same place and dies by SIGKILL at a step; clock and ids stand still where
they can. What is left must be as if nothing had been done, or as if all of it had.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from tests.support.counts import some_of, turns
from tests.support.memory_disk import MEMORY_DISK

READS = ("select", "with", "pragma", "begin", "rollback", "explain")
_FILE_EVENTS = {"os.link", "os.rename", "os.remove", "os.truncate", "os.chmod", "os.mkdir", "os.rmdir"}


def die() -> None:
    """End this process as hard as can be."""
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[], Any], *, may_fail: bool = False) -> Any:
    """Do it in a process of its own, which closes nothing in the end; what it gives as JSON, or None if it died."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            said = json.dumps([work()]).encode()
            while said:
                said = said[os.write(writing, said) :]
            die()
        except BaseException:  # noqa: BLE001  # the last stop of this process
            traceback.print_exc()
            status = 0 if may_fail else 1
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    assert os.waitpid(pid, 0)[1] in (0, signal.SIGKILL), "the child failed, see what it printed"
    return json.loads(said)[0] if said else None


def watch(statement: Callable[[str, str, str], None], changed: Callable[[str, Any], None] = lambda *_: None) -> None:
    """Call these from now on: for each SQL statement with `before` or `after`, its text and its file, and whenever
    Python is about to change a file, with the event and the path."""

    def see(event: str, arguments: tuple[Any, ...]) -> None:
        written = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if written or event in _FILE_EVENTS:
            changed(event, arguments[0])

    def trace(db: apsw.Connection) -> None:
        if file := db.filename:
            db.exec_trace = lambda _, sql, __: statement("before", sql, file) is None
            db.trace_v2(apsw.SQLITE_TRACE_PROFILE, lambda event: statement("after", str(event["sql"]), file))

    apsw.connection_hooks.append(trace)
    sys.addaudithook(see)


def at_step(
    at: int,
    act: Callable[[], None] = die,
    *,
    reads: bool = False,
    files: bool = True,
    after: bool = False,
    rows_of_a_draft: int = 1,
) -> list[str]:
    """Act before (or after) the step of that number, 0 is the first; the steps that were taken are in the list.

    A step is an SQL statement that may write (with `reads` any), or with `files` what Python does to one. Of the
    statements on a draft, which has no name yet, only every n-th may be one.
    """
    steps: list[str] = []
    drafted = count(1)

    def take(step: str) -> None:
        if len(steps) == at:
            act()
        steps.append(step)

    def statement(side: str, sql: str, file: str) -> None:
        word = sql.split()[0].lower()
        if side != ("after" if after else "before") or (word in READS and not reads):
            return
        if rows_of_a_draft == 1 or not file.endswith(".draft") or word == "commit":
            take(word)
        elif next(drafted) % rows_of_a_draft == 0:
            take("drafted")

    watch(statement, lambda event, _: take(event) if files else None)
    return steps


def attempt(act: Callable[[], object], at: int, **how: Any) -> list[str] | None:
    """Let a child do it and die at a step (see `at_step`); its steps, if it came to the end."""

    def work() -> list[str]:
        steps = at_step(at, **how)
        act()
        return steps

    found: list[str] | None = in_child(work)
    return found


@dataclass
class Verdict:
    """An operation that was killed at many points: how often it was as before and as done, and what was wrong."""

    before: Any
    done: Any
    problems: list[str] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=lambda: {"points": 0, "before": 0, "done": 0})

    def see(self, where: str, left: Any, found: Iterable[str] = (), *, lived: bool = False) -> None:
        wrong = [*found, *["it lived"] * lived]
        wrong += [] if left in (self.before, self.done) else [f"neither nor: {str(left)[:2000]}"]
        self.problems += [f"killed {where}: {each}" for each in wrong]
        self.outcomes["points"] += 1
        self.outcomes["done" if left == self.done else "before"] += 1

    def told(self, *, may_be_same: bool = False) -> dict[str, Any]:
        if self.done == self.before and not may_be_same:
            self.problems.append("what was acknowledged is not there")
        return {"problems": self.problems, "same": self.done == self.before, **self.outcomes}


def kill_at_steps(
    origin: Path,
    act: Callable[[Path], object],
    look: Callable[[Path, int], tuple[Any, list[str]]],
    thorough: bool,
    **how: Any,
) -> Verdict:
    """Do something on copies of a place, and die at some of the steps of that.

    `look` says of each copy, and of one that nobody touched, what its state is and what is wrong with it.
    """
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:

        def left_at(at: int | None) -> tuple[list[str] | None, Any, list[str]]:
            copy = Path(folder) / str(at)
            shutil.copytree(origin, copy)
            steps = [] if at is None else attempt(lambda: act(copy), at, **how)
            state, found = look(copy, -1 if at is None else at)
            shutil.rmtree(copy)
            return steps, state, found

        _, before, wrong = left_at(None)
        steps, done, wrong_then = left_at(-1)
        assert steps
        verdict = Verdict(before, done, [*wrong, *wrong_then])
        for at in some_of(range(len(steps) + 1), 3, turns(steps), thorough):
            lived, state, found = left_at(at)
            is_over = at == len(steps)
            verdict.see(f"at step {at} of {len(steps)}", state, found, lived=lived is not None and not is_over)
    return verdict


def check(told: dict[str, Any], least: int = 2) -> None:
    """The verdict of a program: nothing wrong, and both states were met at so many points."""
    assert told["problems"] == []
    assert told["points"] >= least
    assert told["same"] or told["before"] > 0
    assert told["done"] > 0, "the last point is after the end"
