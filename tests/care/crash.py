"""Kill an operation at each of its steps: `python -m tests.care.crash OPERATION TEMPLATE FOLDER`.

A step is an SQL statement that may write, or something that Python does to a file. For every step a child gets a copy
of the template, does the operation, and dies by SIGKILL when it comes to that step; the copies stay in FOLDER
for the test to look at. The last copy is of the child that came to the end.
"""

from __future__ import annotations

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


def main(operation: str, template: Path, folder: Path) -> None:
    for step in count():
        place = folder / f"{step:04}"
        shutil.copytree(template, place)
        pid = os.fork()
        if pid == 0:
            _die_at(step)
            app = open_app(place / "home")
            OPERATIONS[operation](app, place)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status == 0:
            return
        assert os.WIFSIGNALED(status), f"{operation} failed at step {step}"
        assert os.WTERMSIG(status) == signal.SIGKILL


def _die_at(step: int) -> None:
    steps = count()

    def take_one() -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def see(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FILE_EVENTS or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            take_one()

    def statement(_: object, sql: str, __: object) -> bool:
        if not sql.lstrip().lower().startswith(_READS):
            take_one()
        return True

    drafted = count(1)

    def statement_of_a_draft(_: object, sql: str, __: object) -> bool:
        if sql == "commit" or next(drafted) % _A_DRAFTS_STEP == 0:
            take_one()
        return True

    def trace(db: apsw.Connection) -> None:
        if db.filename:
            db.exec_trace = statement_of_a_draft if db.filename.endswith(".draft") else statement

    apsw.connection_hooks.append(trace)
    sys.addaudithook(see)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
