"""Workspaces are made, deleted and restored while others look after the home."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from memsweep.app import App
from tests.support import store_files
from tests.support.commands import environment
from tests.support.counts import some_of
from tests.support.fork_server import ForkServer
from tests.support.killing import attempt
from tests.workspaces.killed_at_each_step import OPERATIONS, fill, leftovers, open_app, run, state

pytestmark = pytest.mark.slow


class Stopping:
    """An operation in a process of its own, which stops before one of its steps until it may go on."""

    def __init__(self, operation: str, place: Path, given: object, at: int) -> None:
        order = [sys.executable, "-m", "tests.workspaces.stopping", operation, str(place), str(given), str(at)]
        self._pid = os.spawnve(os.P_NOWAIT, sys.executable, order, environment(None))
        _, status = os.waitpid(self._pid, os.WUNTRACED)
        self.is_stopped = os.WIFSTOPPED(status)
        self.status = None if self.is_stopped else os.waitstatus_to_exitcode(status)

    def go_on(self) -> int:
        os.kill(self._pid, signal.SIGCONT)
        _, status = os.waitpid(self._pid, 0)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    fill(tmp_path / "home")
    return tmp_path


@pytest.fixture
def app(place: Path) -> Iterator[App]:
    app = open_app(place / "home")
    yield app
    app.close()


@pytest.mark.soak
@pytest.mark.parametrize("share", some_of([0.3, 0.5, 0.7, 0.9], 2))
@pytest.mark.parametrize("operation", ["create", "delete", "undelete", "restore", "replacing restore"])
def test_nobody_cleans_up_what_a_living_process_is_at_work_on(
    place: Path, tmp_path_factory: pytest.TempPathFactory, operation: str, share: float
) -> None:
    app = open_app(place / "home")
    given = OPERATIONS[operation].prepare(app, place)
    app.close()  # copying a file that this process has open would drop its locks
    before = state(place / "home")
    rehearsal = tmp_path_factory.mktemp("rehearsal") / "place"
    shutil.copytree(place, rehearsal)
    steps = attempt(partial(run, OPERATIONS[operation], rehearsal, given), -1)
    assert steps is not None
    child = Stopping(operation, place, given, int(share * len(steps)))
    assert child.is_stopped
    for _ in range(2):
        app = open_app(place / "home")
        assert {"default"} <= {workspace.id for workspace in app.workspaces()}
        assert app.memory().care.doctor(repair=True).findings == ()
        app.close()
    assert child.go_on() == 0
    assert state(place / "home") != before
    assert app.memory().care.doctor().findings == ()
    app.close()
    assert leftovers(place / "home") == []


def test_a_doctor_beside_restores_finds_no_loss_and_destroys_nothing(
    fork_server: ForkServer, place: Path, app: App
) -> None:
    backup = app.memory("other").care.backup(place / "copy.backup")
    calls = [["restore", {"path": str(backup.path), "workspace_id": "other", "replace": True}]] * 25
    calls += [["restore", {"path": str(backup.path), "workspace_id": f"new{n}"}] for n in range(10)]
    children = [fork_server.fork("attempt", place / "home", calls=calls[part::2]) for part in range(2)]
    rounds = 0
    while any(not child.ended for child in children):
        assert app.memory().care.doctor(repair=True).findings == ()
        rounds += 1
    outcomes = [outcome for child in children for outcome in child.report()]
    assert {outcome.get("error") for outcome in outcomes} <= {None, "Conflict"}  # both replace the same one
    assert rounds > 3
    assert app.memory().care.doctor().findings == ()
    assert {workspace.id for workspace in app.workspaces()} == {"default", "other", *(f"new{n}" for n in range(10))}
    for name in ("other", *(f"new{n}" for n in range(10))):
        assert store_files.problems(store_files.file_of(place / "home", name)) == []
        assert app.memory(name).stats().total_memories == 3
    assert leftovers(place / "home") == []
