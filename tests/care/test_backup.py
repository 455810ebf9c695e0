"""Backup and restore: whole or not at all, and what comes back is what was there."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.errors import AlreadyExists, BadInput, MemsweepError, NotFound, StoreCorrupt, StoreError, StoreTooNew
from memsweep.model.care import Checkup
from tests.care import stores
from tests.support import store_files


@pytest.fixture
def copy(filled: Path, app: App, tmp_path: Path) -> Path:
    """A backup of the filled workspace."""
    return Path(app.memory().care.backup(tmp_path / "copy.backup").path)


def state(home: Path) -> tuple[list[object], set[str]]:
    """All that a restore may not change when it is refused."""
    rows = store_files.query(home / "registry.db", "select * from workspace")
    return rows, {path.name for path in (home / "workspaces").iterdir() if not path.name.endswith(("-wal", "-shm"))}


def edit(file: Path, script: str) -> None:
    with store_files.open_file(file) as db:
        db.execute(script)


# what comes back


@pytest.mark.slow
def test_a_restored_workspace_is_what_was_backed_up(filled: Path, app: App, home: Path, copy: Path) -> None:
    restored = app.restore(copy, "other")
    assert restored.receipt_id is None
    file = store_files.file_of(home, "other")
    before, after = stores.dump(filled), stores.dump(file)
    for table in before.keys() - {"audit", "sqlite_sequence", "meta"}:
        assert after[table] == before[table], table
    assert before.keys() == after.keys()
    assert [row for row in after["meta"] if row not in before["meta"]] == [
        (*("text", b"workspace"), *("text", b"other")),
    ]
    assert len(after["audit"]) == len(before["audit"]), "the restore is noted in it, the backup in what was backed up"
    assert app.memory().sweep.audit()[0].action == "backup"
    assert store_files.problems(file) == []
    assert app.memory("other").care.doctor() == Checkup("other", ())
    assert app.memory("other").sweep.audit()[0].action == "restore"


def test_trash_plans_and_receipts_come_back_too(app: App, copy: Path) -> None:
    app.restore(copy, "other")
    memory = app.memory("other")
    (item,) = [item for item in memory.sweep.trash()[0] if item.kind == "memory"]
    assert memory.sweep.undo(item.receipt_id).totals.memories == 1
    assert memory.search("Ada").hits
    assert memory.care.doctor() == Checkup("other", ())


def test_a_backup_is_the_state_of_one_moment(app: App, copy: Path) -> None:
    app.memory().remember("after the backup")
    app.restore(copy, "other")
    assert app.memory("other").stats().total_memories == app.memory().stats().total_memories - 1


def test_text_that_is_none_is_not_backed_up_for_nobody_could_restore_it(
    filled: Path, app: App, home: Path, tmp_path: Path
) -> None:
    edit(filled, "update chunk set text = cast(x'ff80' as text) where id = 1")
    with pytest.raises(StoreCorrupt, match=r"not UTF-8.*no backup was made.*doctor"):
        app.memory().care.backup(tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_description_and_age_come_back(app: App, tmp_path: Path) -> None:
    made = app.create_workspace("described", "what it is for")
    app.memory("described").remember("x")
    app.memory("described").care.backup(tmp_path / "b")
    app.restore(tmp_path / "b", "again")
    (again,) = [workspace for workspace in app.workspaces() if workspace.id == "again"]
    assert (again.description, again.created_at) == (made.description, made.created_at)


def test_a_lost_registry_finds_the_restored_workspace(make: Callable[..., App], home: Path, copy: Path) -> None:
    app = make()
    app.restore(copy, "other")
    app.close()
    for file in home.glob("registry.db*"):
        file.unlink()
    assert [workspace.id for workspace in make().workspaces()] == ["default", "other"]


def test_a_restore_into_a_home_that_is_not_there_makes_it(make: Callable[..., App], tmp_path: Path, copy: Path) -> None:
    app = make(MEMSWEEP_HOME=str(tmp_path / "new" / "home"))
    assert app.restore(copy).workspace_id == "default"
    assert app.memory().search("Ada").hits


# the file


def test_only_the_owner_can_read_a_backup_and_it_is_one_file(copy: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"home", "copy.backup"}
    with apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY) as db:
        assert db.pragma("journal_mode") == "delete"
    db.close()


@pytest.mark.parametrize("there", ["file", "link", "folder"])
def test_what_is_there_is_never_overwritten_unasked(filled: Path, app: App, tmp_path: Path, there: str) -> None:
    target = tmp_path / "target"
    {
        "file": lambda: target.write_text("precious"),
        "link": lambda: target.symlink_to(tmp_path / "nowhere"),
        "folder": target.mkdir,
    }[there]()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(AlreadyExists, match="target"):
        app.memory().care.backup(target)
    assert sorted(tmp_path.iterdir()) == before


def test_force_replaces_a_file_but_no_folder(filled: Path, app: App, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    app.memory().care.backup(target, force=True)
    assert app.restore(target, "other").seal.memories
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match="folder"):
        app.memory().care.backup(tmp_path / "folder", force=True)
    assert {path.name for path in tmp_path.iterdir()} == {"home", "target", "folder"}


def test_a_folder_that_is_not_there_is_said(filled: Path, app: App, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        app.memory().care.backup(tmp_path / "no" / "where")
    with pytest.raises(BadInput):
        app.memory().care.backup(filled / "below a file")


def test_what_a_killed_process_left_is_swept_away(filled: Path, app: App, tmp_path: Path) -> None:
    gone, alive = f"{2**22 + 1}", f"{os.getpid()}"  # no process has a number that high
    for owner in (gone, alive):
        (tmp_path / f".target.{owner}.0123abcd.draft").touch()
    (tmp_path / f".target.{gone}.0123abcd.draft-wal").touch()
    app.memory().care.backup(tmp_path / "target")
    assert {path.name for path in tmp_path.iterdir()} == {"home", "target", f".target.{alive}.0123abcd.draft"}


def test_a_damaged_workspace_is_not_backed_up(filled: Path, make: Callable[..., App], tmp_path: Path) -> None:
    whole = bytearray(filled.read_bytes())
    for at in range(8192, len(whole), 4096):
        whole[at : at + 64] = b"\xff" * 64
    filled.write_bytes(whole)
    with pytest.raises(StoreCorrupt, match=r"no backup was made.*doctor"):
        make().memory().care.backup(tmp_path / "target")
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


# what is refused


def _strangers_database(copy: Path) -> None:
    copy.unlink()
    with apsw.Connection(str(copy)) as db:
        db.execute("create table theirs (x)")
    db.close()


REFUSED: dict[str, tuple[type[MemsweepError], Callable[[Path], object]]] = {
    "nothing": (NotFound, lambda copy: copy.unlink()),
    "a folder": (BadInput, lambda copy: (copy.unlink(), copy.mkdir())),
    "an empty file": (StoreCorrupt, lambda copy: copy.write_bytes(b"")),
    "a text": (StoreCorrupt, lambda copy: copy.write_text("Dear diary, " * 999)),
    "somebody else's database": (StoreCorrupt, _strangers_database),
    "half a file": (StoreCorrupt, lambda copy: os.truncate(copy, copy.stat().st_size // 2)),
    "all but a page": (StoreCorrupt, lambda copy: os.truncate(copy, copy.stat().st_size - 4096)),
    "a page": (StoreCorrupt, lambda copy: os.truncate(copy, 4096)),
    "no seal": (StoreCorrupt, lambda copy: edit(copy, "drop table backup_seal")),
    "half a seal": (StoreCorrupt, lambda copy: edit(copy, "delete from backup_seal where key = 'digest'")),
    "another seal": (StoreCorrupt, lambda copy: edit(copy, "update backup_seal set value = 0 where key = 'memories'")),
    "a changed text": (StoreCorrupt, lambda copy: edit(copy, "update memory set text = 'x' where id = 1")),
    "a row too many": (StoreCorrupt, lambda copy: edit(copy, "insert into thread (uid) values ('x')")),
    "a row too few": (StoreCorrupt, lambda copy: edit(copy, "delete from vector where chunk = 1")),
    "a trigger": (
        StoreCorrupt,
        lambda copy: edit(copy, "create trigger t after delete on meta begin delete from memory; end"),
    ),
    "a newer seal": (StoreTooNew, lambda copy: edit(copy, "update backup_seal set value = 99 where key = 'format'")),
    "a newer schema": (StoreTooNew, lambda copy: edit(copy, "update backup_seal set value = 99 where key = 'schema'")),
    "an older schema": (StoreCorrupt, lambda copy: edit(copy, "pragma user_version = 0")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_no_whole_backup_is_refused_and_nothing_changes(
    app: App, home: Path, copy: Path, case: str
) -> None:
    error, spoil = REFUSED[case]
    spoil(copy)
    before = state(home)
    for replace in (False, True):
        with pytest.raises(error, match=r"copy\.backup") as caught:
            app.restore(copy, "default" if replace else "other", replace=replace)
        assert "draft" not in str(caught.value)
    assert state(home) == before


def test_the_file_of_a_workspace_is_no_backup(app: App, filled: Path, home: Path) -> None:
    with pytest.raises(StoreCorrupt, match="memsweep backup"):
        app.restore(filled, "other")


@pytest.fixture(scope="module")
def pristine(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pristine")
    stores.copy_of(template, folder / "home")
    app = stores.open_app(folder / "home")
    app.memory().care.backup(folder / "copy.backup")
    app.restore(folder / "copy.backup", "whole")
    app.close()
    return folder


@pytest.mark.slow
@given(data=st.data())
def test_one_wrong_byte_is_refused_or_does_not_matter(pristine: Path, data: st.DataObject) -> None:
    home, spoiled = pristine / "home", pristine / "spoiled.backup"
    whole = bytearray((pristine / "copy.backup").read_bytes())
    at = data.draw(st.one_of(st.integers(0, 200), st.integers(0, len(whole) - 1)), label="at")
    whole[at] ^= data.draw(st.integers(1, 255), label="mask")
    spoiled.write_bytes(whole)
    app = stores.open_app(home)
    try:
        app.restore(spoiled, "spoiled", replace=True)
    except StoreError as error:
        refused = str(error)
    else:
        refused = "spoiled.backup"
        left_out = ("audit", "sqlite_sequence", "meta")
        wanted = stores.dump(store_files.file_of(home, "whole"), without=left_out)
        assert stores.dump(store_files.file_of(home, "spoiled"), without=left_out) == wanted
        assert app.memory("spoiled").care.doctor().left == ()
    finally:
        app.close()
    assert "spoiled.backup" in refused


# what is there already


def test_a_workspace_with_something_in_it_is_not_replaced_unasked(app: App, home: Path, copy: Path) -> None:
    before = state(home)
    with pytest.raises(AlreadyExists, match="--replace"):
        app.restore(copy)
    assert state(home) == before


def test_a_workspace_that_is_replaced_can_come_back(filled: Path, app: App, home: Path, copy: Path) -> None:
    app.memory().remember("written after the backup")
    before = stores.dump(filled, without=("meta", "audit", "sqlite_sequence"))
    restored = app.restore(copy, replace=True)
    assert store_files.file_of(home) != filled
    found = app.memory().search("written after the backup", mode="deep").hits
    assert found
    assert "written after the backup" not in [hit.passage.text for hit in found]
    assert app.memory().care.doctor() == Checkup("default", ())
    app.delete_workspace("default", confirm=True)
    assert restored.receipt_id is not None
    app.undo(restored.receipt_id)
    assert store_files.file_of(home) == filled
    assert stores.dump(filled, without=("meta", "audit", "sqlite_sequence")) == before
    assert app.memory().care.doctor() == Checkup("default", ())


def test_an_emptied_workspace_makes_way(app: App, copy: Path) -> None:
    app.memory("other").remember("soon gone", entities=["Ada"])
    with pytest.raises(AlreadyExists):
        app.restore(copy, "other")
    app.memory("other").sweep.clear("DELETE ALL MEMORIES")
    restored = app.restore(copy, "other")
    assert app.memory("other").stats().total_memories == restored.seal.memories


@pytest.mark.slow
def test_a_workspace_with_nothing_but_a_context_window_is_not_empty(app: App, copy: Path) -> None:
    app.memory("other").context().add([{"text": "a segment"}])
    with pytest.raises(AlreadyExists):
        app.restore(copy, "other")
    app.memory("other").sweep.clear("DELETE ALL MEMORIES")
    app.restore(copy, "other")


@pytest.mark.parametrize("loss", ["missing", "damaged"])
def test_a_workspace_that_cannot_be_read_is_replaced_only_if_asked(
    filled: Path, app: App, copy: Path, home: Path, loss: str
) -> None:
    app.close()
    if loss == "missing":
        filled.unlink()
    else:
        filled.write_bytes(b"rubbish" * 1000)
    with pytest.raises(AlreadyExists):
        app.restore(copy)
    app.restore(copy, replace=True)
    assert app.memory().care.doctor() == Checkup("default", ())
    assert app.memory().search("Ada").hits


def test_a_bad_name_is_refused_before_anything_else(app: App, copy: Path, home: Path) -> None:
    before = state(home)
    with pytest.raises(BadInput, match="workspace id"):
        app.restore(copy, "../escape")
    assert state(home) == before


def test_a_backup_can_be_restored_any_number_of_times(app: App, copy: Path) -> None:
    kept = copy.read_bytes()
    for name in ("one", "two"):
        app.restore(copy, name)
    assert copy.read_bytes() == kept
    shutil.move(copy, copy.with_name("moved"))
    assert app.restore(copy.with_name("moved"), "three").seal.memories == app.memory("one").stats().total_memories
