"""Applies and undoes plans, and is interrupted at each single step: `python -m tests.adopt.interrupted HOW FOLDER`.

A step is a line of the code that changes files. Children are forked, one a step, until one gets to the end; `kill` ends
them there, every other HOW is the name of a file that somebody else writes at that moment.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from memsweep.adopt import steps, writing
from memsweep.app import App, make_app
from memsweep.errors import Conflict
from memsweep.settings import load_settings
from tests.adopt.conftest import Person
from tests.adopt.test_adopt import DEAD
from tests.support.counts import THOROUGH

FOREIGN = b"what somebody else has just written\n"
EVERY = 1 if THOROUGH else 13
_STEPS = {writing.__file__, steps.__file__}


def at_step(number: int, act: Callable[[], None]) -> None:
    """From now on, act just before the step of this number."""
    left = number

    def traced(frame: FrameType, event: str, given: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in _STEPS:
            return None
        if event == "line" and left >= 0:
            left -= 1
            if left < 0:
                sys.settrace(None)
                act()
        return traced

    sys.settrace(traced)


def in_child(work: Callable[[], None]) -> int:
    pid = os.fork()
    if not pid:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Trial:
    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        repo = folder / "repo"
        (repo / "src").mkdir(parents=True)
        (repo / "src" / "parser.py").touch()
        (repo / ".git").mkdir()
        (repo / ".git" / "HEAD").touch()
        self.person = Person(folder / "person", repo)
        self.person.write(DEAD)
        self.home, self.repo = folder / "home", repo
        os.environ["HOME"] = str(self.person.home)

    def app(self) -> App:
        return make_app(load_settings({"MEMSWEEP_HOME": str(self.home)}))

    def plan(self) -> str:
        return self.app().adopt.look("claude", project=self.repo).plan.id

    def apply(self, plan_id: str) -> str:
        return self.app().adopt.apply("claude", plan_id, confirm=True).receipt_id

    def receipts(self) -> list[str]:
        return [file.stem for file in self.home.rglob("receipts/*.json")]

    def leftovers(self) -> list[str]:
        return [name for name in self.person.read() if ".memsweep-" in name]

    def take_back(self) -> None:
        self.app().adopt.look("claude", project=self.repo)
        for receipt_id in self.receipts():
            with suppress(Conflict):  # undone already
                self.app().adopt.undo(receipt_id)


def killed(folder: Path) -> int:
    """Kill an apply, and the undo of a whole one, at every step: afterwards all is as it was."""
    count = 0
    for is_undo in (False, True):
        number, status = 0, -1
        while status != 0:
            trial = Trial(folder)
            before = trial.person.read()
            plan_id = trial.plan()
            receipt_id = trial.apply(plan_id) if is_undo else ""

            def work(trial=trial, number=number, plan_id=plan_id, receipt_id=receipt_id, is_undo=is_undo) -> None:
                at_step(number, lambda: os.kill(os.getpid(), signal.SIGKILL))
                trial.app().adopt.undo(receipt_id) if is_undo else trial.apply(plan_id)

            status = in_child(work)
            trial.take_back()
            assert trial.person.read() == before, f"step {number} of {'undo' if is_undo else 'apply'}"
            number, count = number + EVERY, count + 1
    return count


def disturbed(folder: Path, name: str) -> int:
    """Somebody writes a file at every step of an apply: what they wrote is there in the end, and nothing is lost."""
    number = count = 0
    done = False
    while not done:
        trial = Trial(folder)
        before, plan_id = trial.person.read(), trial.plan()

        def work(trial=trial, number=number, plan_id=plan_id) -> None:
            def write() -> None:
                draft = trial.person.home / "draft"
                draft.write_bytes(FOREIGN)
                draft.rename(trial.person.memory / name)
                (trial.home / "written").touch()

            at_step(number, write)
            trial.apply(plan_id)

        assert in_child(work) == 0
        done = not (trial.home / "written").exists()
        if not done:
            after = trial.person.read()
            assert after.get(name) == FOREIGN, f"step {number}: {after.get(name)!r}"
            assert trial.leftovers() == [], f"step {number}"
            kept = {file.read_bytes() for file in trial.home.rglob("files/*/*")}
            assert set(before.values()) <= kept | set(after.values()), f"step {number}"
        number, count = number + EVERY, count + 1
    return count


if __name__ == "__main__":
    how, where = sys.argv[1], Path(sys.argv[2])
    print(killed(where) if how == "kill" else disturbed(where, how))
