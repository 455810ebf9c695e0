"""Backup and restore among writers, full disks and kills."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.model.care import Checkup
from tests.care import stores
from tests.support import store_files
from tests.support.counts import THOROUGH
from tests.support.fork_server import ForkServer

pytestmark = pytest.mark.slow

HEALTHY = Checkup("default", ())


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


# killed at its steps


@pytest.fixture(scope="module")
def place(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home and a backup of it."""
    folder = tmp_path_factory.mktemp("place")
    stores.copy_of(template, folder / "home")
    app = stores.open_app(folder / "home")
    app.memory().care.backup(folder / "copy.backup")
    app.memory().remember("written after the backup")
    app.close()
    return folder


def killed(fork_server: ForkServer, operation: str, place: Path, tmp_path: Path) -> Iterator[tuple[Path, App]]:
    """The homes that killed children left, with an app to look at it."""
    (tmp_path / "copies").mkdir()
    fork_server.program("tests.care.crash", operation, str(place), str(tmp_path / "copies"), THOROUGH)
    folders = sorted((tmp_path / "copies").iterdir())
    assert len(folders) > 3
    for folder in folders:
        app = stores.open_app(folder / "home")
        yield folder, app
        app.close()


def restores(app: App, file: Path) -> bool:
    return app.restore(file, "check", replace=True).seal.memories > 0


@pytest.mark.soak
def test_a_killed_backup_leaves_a_whole_file_or_none(place: Path, tmp_path: Path, fork_server: ForkServer) -> None:
    made = []
    for folder, app in killed(fork_server, "backup", place, tmp_path):
        there = (folder / "made.backup").exists()
        made.append(there)
        assert not there or restores(app, folder / "made.backup")
        app.memory().care.backup(folder / "made.backup", force=True)  # sweeps what is left
        assert {path.name for path in folder.iterdir()} == {"home", "copy.backup", "made.backup"}
        assert app.memory().care.doctor() == HEALTHY
    assert made[0] is False
    assert made[-1] is True


@pytest.mark.soak
def test_a_killed_backup_in_the_place_of_another_leaves_one_of_them(
    place: Path, tmp_path: Path, fork_server: ForkServer
) -> None:
    old = (place / "copy.backup").read_bytes()
    kept = []
    for folder, app in killed(fork_server, "replaced backup", place, tmp_path):
        kept.append((folder / "copy.backup").read_bytes() == old)
        assert restores(app, folder / "copy.backup")
    assert kept == sorted(kept, reverse=True)
    assert kept[-1] is False


@pytest.mark.soak
def test_a_killed_restore_leaves_a_whole_workspace_or_none(
    place: Path, tmp_path: Path, fork_server: ForkServer
) -> None:
    made = []
    for folder, app in killed(fork_server, "restore", place, tmp_path):
        names = [workspace.id for workspace in app.workspaces()]
        made.append("other" in names)
        if made[-1]:
            assert app.memory("other").search("Ada").hits
            assert store_files.problems(store_files.file_of(folder / "home", "other")) == []
        assert app.memory().care.doctor(repair=True).left == ()
        assert [workspace.id for workspace in app.workspaces()] == names
        app.restore(folder / "copy.backup", "other", replace=True)
        assert not list((folder / "home" / "workspaces").glob(".*"))
    assert made == sorted(made)
    assert made[-1] is True


@pytest.mark.soak
def test_a_killed_restore_in_the_place_of_another_leaves_one_of_them(
    place: Path, tmp_path: Path, fork_server: ForkServer
) -> None:
    before = stores.dump(store_files.file_of(place / "home"), without=("meta", "audit", "sqlite_sequence"))
    swapped = []
    for folder, app in killed(fork_server, "replacing restore", place, tmp_path):
        file = store_files.file_of(folder / "home")
        swapped.append(file.name != store_files.file_of(place / "home").name)
        old = folder / "home" / "workspaces" / store_files.file_of(place / "home").name
        assert stores.dump(old, without=("meta", "audit", "sqlite_sequence")) == before
        assert store_files.problems(file) == []
        assert app.memory().care.doctor(repair=True).left == ()
    assert swapped == sorted(swapped)
    assert swapped[-1] is True


@pytest.mark.soak
def test_a_killed_repair_can_be_done_again(place: Path, tmp_path: Path, fork_server: ForkServer) -> None:
    damaged = tmp_path / "damaged"
    stores.copy_place(place, damaged)
    with store_files.open_file(store_files.file_of(damaged / "home")) as db:
        db.execute(
            "delete from memory_tag; delete from chunk_fts_docsize where id = 4; insert into vector values (999, x'00')"
        )
    for _, app in killed(fork_server, "repair", damaged, tmp_path):
        assert app.memory().care.doctor(repair=True).left == ()
        assert app.memory().care.doctor() == HEALTHY


@pytest.mark.soak
def test_a_killed_compact_loses_nothing(place: Path, tmp_path: Path, fork_server: ForkServer) -> None:
    before = stores.dump(store_files.file_of(place / "home"))
    for folder, app in killed(fork_server, "compact", place, tmp_path):
        assert app.memory().care.doctor() == HEALTHY
        assert stores.dump(store_files.file_of(folder / "home")) == before
