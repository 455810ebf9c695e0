"""Backup and restore among writers, full disks and kills."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.model.care import Checkup
from tests.care.killed_at_each_step import HEALTHY, OPERATIONS
from tests.support import store_files
from tests.support.counts import THOROUGH
from tests.support.fork_server import ForkServer
from tests.support.killing import check

pytestmark = pytest.mark.slow


# others write


def test_a_backup_among_four_writers_holds_what_was_acknowledged(
    fork_server: ForkServer, app: App, home: Path, tmp_path: Path
) -> None:
    writers = [fork_server.fork("add_until_killed", home, prefix=f"writer {number}") for number in range(4)]
    acknowledged: set[str] = set()
    for number in range(3):
        acknowledged |= {writer.said()[0] for writer in writers for _ in range(5)}
        backup = app.memory().care.backup(tmp_path / f"{number}.backup")
        app.restore(backup.path, f"copy{number}")
        file = store_files.file_of(home, f"copy{number}")
        assert set(store_files.query(file, "select uid from live_memory")) >= acknowledged
        assert store_files.problems(file) == []
        assert app.memory(f"copy{number}").care.doctor() == Checkup(f"copy{number}", ())
    said = {line[0] for writer in writers for line in writer.kill()}
    file = store_files.file_of(home)
    assert set(store_files.query(file, "select uid from live_memory")) >= acknowledged | said
    assert store_files.problems(file) == []


def test_a_doctor_among_four_writers_finds_nothing_and_disturbs_nobody(
    fork_server: ForkServer, app: App, home: Path
) -> None:
    writers = [fork_server.fork("add_until_killed", home, prefix=f"writer {number}") for number in range(4)]
    for _ in range(3):
        for writer in writers:
            writer.said()
        assert app.memory().care.doctor(repair=True) == HEALTHY
    for writer in writers:
        assert all(isinstance(line, list) for line in writer.kill())
    assert app.memory().care.doctor() == HEALTHY


def test_compacting_among_writers_loses_nothing(fork_server: ForkServer, app: App, home: Path) -> None:
    writers = [fork_server.fork("add_until_killed", home, prefix=f"writer {number}") for number in range(2)]
    acknowledged: set[str] = set()
    for _ in range(3):
        acknowledged |= {writer.said()[0] for writer in writers for _ in range(3)}
        app.memory().care.compact()
    acknowledged |= {line[0] for writer in writers for line in writer.kill()}
    file = store_files.file_of(home)
    assert set(store_files.query(file, "select uid from live_memory")) >= acknowledged
    assert store_files.problems(file) == []


# the disk is full


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_full_disk_leaves_no_backup_and_keeps_the_old_one(
    fork_server: ForkServer, filled: Path, make: Callable[..., App], home: Path, tmp_path: Path, share: float
) -> None:
    app = make()
    whole = app.memory().care.backup(tmp_path / "old.backup")
    app.close()
    kept = Path(whole.path).read_bytes()
    calls = [
        ["care.backup", {"path": str(tmp_path / "new.backup")}],
        ["care.backup", {"path": str(tmp_path / "old.backup"), "force": True}],
        ["restore", {"path": str(tmp_path / "old.backup"), "workspace_id": "other"}],
    ]
    limit = int(whole.size_bytes * share)
    outcomes = fork_server.fork("attempt", home, calls=calls, file_size_limit=limit).report()
    assert [outcome.get("error") for outcome in outcomes] == ["StoreFull"] * 3
    assert all(".draft" not in outcome["message"] for outcome in outcomes)
    assert {path.name for path in tmp_path.iterdir()} == {"home", "old.backup"}
    assert Path(whole.path).read_bytes() == kept
    assert [path.name for path in (home / "workspaces").glob("*.db")] == [filled.name]
    assert not list((home / "workspaces").glob(".*"))
    assert make().memory().care.doctor() == HEALTHY


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_step_it_is_done_or_not_begun_and_all_of_it_is_whole(
    operation: str, template: Path, fork_server: ForkServer
) -> None:
    check(fork_server.program("tests.care.killed_at_each_step", operation, str(template), THOROUGH), least=4)
