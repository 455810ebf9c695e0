"""Kill an operation at its steps: `python -m tests.care.crash OPERATION TEMPLATE FOLDER [thorough]`.

A step is an SQL statement that may write, or something that Python does to a file. For a step a child gets a copy of
the template, does the operation, and dies by SIGKILL when it comes to that step: wherever another kind of step begins,
and if it is thorough, at every step. The copies stay in FOLDER for the test to look at. The last copy is of the child
that came to the end.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from memsweep.app import App
from tests.care.stores import open_app
from tests.support.counts import some_of, turns

_FILE_EVENTS = {"os.link", "os.rename", "os.remove", "os.truncate", "os.chmod", "os.mkdir"}
_READS = ("select", "with", "pragma", "begin", "rollback")
_A_DRAFTS_STEP = 50  # a row more or less in a file that has no name yet makes no difference

OPERATIONS: dict[str, Callable[[App, Path], object]] = {
    "backup": lambda app, folder: app.memory().care.backup(folder / "made.backup"),
    "replaced backup": lambda app, folder: app.memory().care.backup(folder / "copy.backup", force=True),
    "restore": lambda app, folder: app.restore(folder / "copy.backup", "other"),
    "replacing restore": lambda app, folder: app.restore(folder / "copy.backup", replace=True),
    "repair": lambda app, folder: app.memory().care.doctor(repair=True),
    "compact": lambda app, folder: app.memory().care.compact(),
}


def main(operation: str, place: str, copies: str, thorough: bool) -> None:
    template, folder = Path(place), Path(copies)
    whole = folder / "whole"
    steps = _attempt(operation, template, whole, -1)
    shutil.rmtree(whole)
    assert steps, f"{operation} failed"
    for at in some_of(range(len(steps) + 1), 3, turns(steps), thorough):
        lived = _attempt(operation, template, folder / f"{at:04}", at)
        assert bool(lived) == (at == len(steps)), f"{operation} lived through step {at}"


def _attempt(operation: str, template: Path, place: Path, at: int) -> list[str]:
    """The steps of a child that came to the end; none of one that died at its step of that number."""
    shutil.copytree(template, place)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        steps = _die_at(at)
        OPERATIONS[operation](open_app(place / "home"), place)
        os.write(writing, json.dumps(steps).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL, f"{operation} failed at step {at}"
    found: list[str] = json.loads(said or b"[]")
    return found


def _die_at(at: int) -> list[str]:
    """End this process before its step of that number; the steps that were taken are added to the list."""
    steps: list[str] = []

    def take(step: str) -> None:
        if len(steps) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        steps.append(step)

    def see(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FILE_EVENTS or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            take(event)

    def statement(_: object, sql: str, __: object) -> bool:
        if not sql.lstrip().lower().startswith(_READS):
            take(sql.split()[0].lower())
        return True

    drafted = count(1)

    def statement_of_a_draft(_: object, sql: str, __: object) -> bool:
        if sql == "commit" or next(drafted) % _A_DRAFTS_STEP == 0:
            take(sql if sql == "commit" else "drafted")
        return True

    def trace(db: apsw.Connection) -> None:
        if db.filename:
            db.exec_trace = statement_of_a_draft if db.filename.endswith(".draft") else statement

    apsw.connection_hooks.append(trace)
    sys.addaudithook(see)
    return steps


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], "thorough" in sys.argv)
