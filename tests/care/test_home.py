"""The registry against the files."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memsweep.app import App
from memsweep.model.care import Checkup
from tests.care.stores import dump
from tests.care.test_doctor import left, names
from tests.support import store_files

HEALTHY = Checkup("default", ())


def set_registry(home: Path, statement: str, *values: object) -> None:
    with store_files.open_file(home / "registry.db") as db:
        db.execute(statement, values)


def forget(home: Path, name: str) -> None:
    set_registry(home, "delete from workspace where name = ?", name)


def workspaces(app: App) -> list[str]:
    return [workspace.id for workspace in app.workspaces()]


@pytest.fixture
def app(make: Callable[..., App]) -> App:
    """Two workspaces, one of which is deleted, and an empty one."""
    app = make()
    app.memory().remember("kept")
    app.memory("other").remember("kept too")
    app.create_workspace("empty", "nothing in it")
    app.memory("gone").remember("deleted")
    app.delete_workspace("gone", confirm=True)
    return app


def test_a_home_as_it_should_be_is_healthy(app: App) -> None:
    assert app.memory().care.doctor(repair=True) == HEALTHY


def test_a_lost_workspace_is_found_and_adopted(app: App, home: Path) -> None:
    file = store_files.file_of(home, "other")
    forget(home, "other")
    before = dump(file, without=("audit", "sqlite_sequence"))
    assert names(app.memory().care.doctor()) == {"workspace_lost"}
    checkup = app.memory().care.doctor(repair=True)
    assert names(checkup) == {"workspace_lost"}
    assert left(checkup) == set()
    assert store_files.file_of(home, "other") == file
    assert dump(file, without=("audit", "sqlite_sequence")) == before
    assert app.memory("other").sweep.audit()[0].action == "repair"
    assert app.memory().care.doctor() == HEALTHY


def test_the_lost_workspace_may_be_the_one_that_is_asked_for(app: App, home: Path) -> None:
    forget(home, "other")
    assert names(app.memory("other").care.doctor()) == {"workspace_lost"}
    assert left(app.memory("other").care.doctor(repair=True)) == set()
    assert app.memory("other").stats().total_memories == 1


@pytest.mark.parametrize("name", ["other", "o" * 63])
def test_a_lost_workspace_whose_name_is_taken_gets_one_like_it(app: App, home: Path, name: str) -> None:
    if name != "other":
        app.memory(name).remember("long")
    forget(home, name)
    app.memory(name).remember("made again")
    assert left(app.memory().care.doctor(repair=True)) == set()
    assert f"{name[:61]}-2" in workspaces(app)
    assert app.memory(f"{name[:61]}-2").stats().total_memories == 1
    assert app.memory().care.doctor() == HEALTHY


def test_a_lost_workspace_without_memories_is_found_too(app: App, home: Path) -> None:
    forget(home, "empty")
    assert names(app.memory().care.doctor()) == {"workspace_lost"}
    assert left(app.memory().care.doctor(repair=True)) == set()
    assert "empty" in workspaces(app)


def test_a_lost_workspace_that_was_deleted_can_be_purged_again(app: App, home: Path) -> None:
    (file,) = store_files.query(home / "registry.db", "select file from workspace where name = 'gone'")
    forget(home, "gone")
    assert names(app.memory().care.doctor()) == {"workspace_lost"}
    assert left(app.memory().care.doctor(repair=True)) == set()
    assert app.memory().care.doctor() == HEALTHY
    assert "gone" not in workspaces(app)
    app.purge_workspaces(0)
    assert not (home / "workspaces" / file).exists()


def test_a_missing_file_is_said(app: App, home: Path) -> None:
    store_files.file_of(home, "other").unlink()
    checkup = app.memory().care.doctor(repair=True)
    assert left(checkup) == {"file_missing"}
    assert checkup.findings[0].samples[0].startswith("other (")
    assert left(app.memory("other").care.doctor()) == {"file_missing"}


def test_the_file_of_a_deleted_workspace_may_be_missing(app: App, home: Path) -> None:
    (file,) = store_files.query(home / "registry.db", "select file from workspace where name = 'gone'")
    (home / "workspaces" / file).unlink()
    assert app.memory().care.doctor(repair=True) == HEALTHY


MARKS = {
    "a live one marked as deleted": ("other", "insert or replace into meta values ('deleted_at', 1)"),
    "a deleted one that is not marked": ("gone", "delete from meta where key = 'deleted_at'"),
    "another name": ("other", "update meta set value = 'somebody' where key = 'workspace'"),
}


@pytest.mark.parametrize("case", MARKS)
def test_a_file_that_says_otherwise_is_corrected(app: App, home: Path, case: str) -> None:
    name, script = MARKS[case]
    (file,) = store_files.query(home / "registry.db", "select file from workspace where name = ?", name)
    with store_files.open_file(home / "workspaces" / file) as db:
        db.execute(script)
    assert names(app.memory().care.doctor()) == {"file_disagrees"}
    assert left(app.memory().care.doctor(repair=True)) == set()
    assert app.memory().care.doctor() == HEALTHY
    assert workspaces(app) == ["default", "empty", "other"]


def test_strange_files_are_said_and_left_alone(app: App, home: Path, tmp_path: Path) -> None:
    folder = home / "workspaces"
    (folder / "text.db").write_text("no database")
    with apsw.Connection(str(folder / "theirs.db")) as db:
        db.execute("create table theirs (x)")
    db.close()
    app.memory().care.backup(folder / "copy.db")
    before = {file: file.read_bytes() for file in folder.glob("*.db")}
    checkup = app.memory().care.doctor(repair=True)
    assert left(checkup) == {"stranger"}
    assert checkup.findings[0].samples == ("copy.db", "text.db", "theirs.db")
    assert {file: file.read_bytes() for file in folder.glob("*.db")} == before


def test_a_folder_with_the_name_of_a_file_is_a_stranger(app: App, home: Path) -> None:
    (home / "workspaces" / "folder.db").mkdir()
    assert left(app.memory().care.doctor(repair=True)) == {"stranger"}


def test_an_empty_file_is_what_is_left_where_making_one_was_cut_short(app: App, home: Path) -> None:
    (home / "workspaces" / "cut.db").touch()
    assert app.memory().care.doctor(repair=True) == HEALTHY
