"""The registry and the files of workspaces."""

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memsweep.app import App
from memsweep.errors import AlreadyExists, BadInput, StoreCorrupt, Unconfirmed, UnknownWorkspace
from tests.model.test_ids import BAD_NAMES
from tests.support import store_files


def lose_registry(home: Path) -> None:
    for file in home.glob("registry.db*"):
        file.unlink()


def names(app: App) -> list[str]:
    return [workspace.id for workspace in app.workspaces()]


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_an_id_is_never_used_as_a_path(app: App, home: Path, tmp_path: Path, name: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: app.create_workspace(name),
        lambda: app.delete_workspace(name, confirm=True),
    ]
    if name:  # an empty one means the configured one
        calls += [
            lambda: app.memory(name).remember("escaped"),
            lambda: app.memory(name).search("x"),
            lambda: app.memory(name).get("x"),
            lambda: app.memory(name).stats(),
        ]
    for call in calls:
        with pytest.raises(BadInput, match="workspace id"):
            call()
    assert not home.exists()
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_named_after_a_workspace(app: App, home: Path) -> None:
    app.memory("con").remember("x")
    app.create_workspace("visible-name")
    assert not [path for path in home.rglob("*") if "con" in path.name or "visible" in path.name]


def test_reading_a_home_that_is_not_there_makes_nothing(app: App, home: Path) -> None:
    assert app.workspaces() == []
    assert app.memory().search("x").hits == ()
    assert app.memory().stats().total_memories == 0
    named = app.memory("named")
    for call in (lambda: named.search("x"), named.stats, lambda: app.delete_workspace("x")):
        with pytest.raises(UnknownWorkspace, match="none yet"):
            call()
    assert not home.exists()


def test_an_empty_id_means_the_configured_one(make: Callable[..., App]) -> None:
    app = make(MEMSWEEP_WORKSPACE="chosen")
    app.memory().remember("x")
    assert names(app) == ["chosen"]
    assert app.memory("").workspace_id == "chosen"


def test_deleting_needs_confirmation(app: App) -> None:
    app.memory("alpha").remember("x")
    for confirm in (False, None, 1, "true"):
        with pytest.raises(Unconfirmed, match="confirm=true"):
            app.delete_workspace("alpha", confirm=confirm)  # type: ignore[arg-type]
    assert app.memory("alpha").stats().total_memories == 1
    assert app.delete_workspace("alpha", confirm=True).id == "alpha"
    assert names(app) == []


@pytest.mark.parametrize("confirm", [True, False])
def test_deleting_an_unknown_workspace_says_so(app: App, confirm: bool) -> None:
    app.create_workspace("alpha")
    with pytest.raises(UnknownWorkspace, match="'alpha'"):
        app.delete_workspace("beta", confirm=confirm)


def test_a_deleted_workspace_keeps_its_file(app: App, home: Path) -> None:
    app.memory("alpha").remember("precious")
    file = store_files.file_of(home, "alpha")
    app.delete_workspace("alpha", confirm=True)
    app.close()
    assert store_files.query(file, "select text from memory") == ["precious"]


@pytest.mark.parametrize("description", ["", "x" * 1000, "[red]🎉[/red]", "two\nlines"])
def test_a_description_comes_back_as_it_is(app: App, description: str) -> None:
    app.create_workspace("alpha", description)
    assert app.workspaces()[0].description == description


@pytest.mark.parametrize("description", ["x" * 1001, "a\0", "\ud800", None, 5, ["x"]])
def test_a_description_that_cannot_be_kept_is_refused(app: App, home: Path, description: object) -> None:
    with pytest.raises(BadInput, match="description"):
        app.create_workspace("alpha", description)  # type: ignore[arg-type]
    assert not home.exists()


def test_a_lost_registry_is_made_again_from_the_files(make: Callable[..., App], home: Path) -> None:
    app = make()
    app.create_workspace("alpha", "the first")
    app.memory("alpha").remember("kept")
    app.memory("beta").remember("kept too")
    app.memory("gone").remember("deleted")
    app.delete_workspace("gone", confirm=True)
    before = app.workspaces()
    app.close()
    lose_registry(home)
    again = make()
    assert again.workspaces() == before
    assert again.memory("alpha").search("kept").hits[0].passage.text == "kept"
    with pytest.raises(UnknownWorkspace):
        again.memory("gone").stats()


def test_a_write_after_the_registry_was_lost_goes_to_the_old_workspace(make: Callable[..., App], home: Path) -> None:
    app = make()
    app.memory().remember("before")
    app.close()
    lose_registry(home)
    again = make()
    again.memory().remember("after")
    assert again.memory().stats().total_memories == 2
    assert len(list((home / "workspaces").glob("*.db"))) == 1


def test_an_empty_registry_counts_as_lost(make: Callable[..., App], home: Path) -> None:
    """As after a crash between making the file and filling it."""
    app = make()
    app.memory("alpha").remember("kept")
    app.close()
    lose_registry(home)
    (home / "registry.db").touch()
    assert names(make()) == ["alpha"]


def test_a_damaged_file_does_not_make_the_others_vanish_with_the_registry(make: Callable[..., App], home: Path) -> None:
    app = make()
    app.memory("alpha").remember("kept")
    app.memory("beta").remember("kept")
    app.close()
    damaged = store_files.file_of(home, "beta")
    damaged.write_bytes(b"not a database" * 1000)
    lose_registry(home)
    app = make()
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match=damaged.name):
            app.workspaces()
        with pytest.raises(StoreCorrupt, match=damaged.name):
            app.memory("alpha").remember("new")
    damaged.unlink()
    assert names(app) == ["alpha"]
    assert app.memory("alpha").stats().total_memories == 1


def test_leftovers_of_a_crash_do_not_become_workspaces(make: Callable[..., App], home: Path) -> None:
    app = make()
    app.memory("alpha").remember("kept")
    app.close()
    (home / "workspaces" / "0000000000000000.db").touch()
    shutil.copy(home / "registry.db", home / "workspaces" / "0000000000000001.db.bak")
    lose_registry(home)
    assert names(make()) == ["alpha"]


def test_of_two_files_with_one_name_the_fuller_one_is_taken(make: Callable[..., App], home: Path) -> None:
    """A crash after a file was made and before it was registered leaves an empty twin."""
    app = make()
    app.create_workspace("alpha")
    app.close()
    empty = store_files.file_of(home, "alpha")
    kept = empty.with_suffix(".kept")
    empty.rename(kept)
    lose_registry(home)
    app = make()
    app.memory("alpha").remember("precious")
    app.close()
    for name in ("0000000000000000.db", "ffffffffffffffff.db"):
        shutil.copy(kept, home / "workspaces" / name)
    lose_registry(home)
    assert make().memory("alpha").stats().total_memories == 1


def test_a_workspace_whose_file_vanished_is_named_and_can_be_deleted(make: Callable[..., App], home: Path) -> None:
    app = make()
    app.memory("alpha").remember("x")
    app.memory("beta").remember("y")
    app.close()
    file = store_files.file_of(home, "alpha")
    file.unlink()
    app = make()
    for call in (lambda: app.memory("alpha").search("x"), lambda: app.memory("alpha").remember("z")):
        with pytest.raises(StoreCorrupt, match=f"'alpha' is missing: .*{file.name}"):
            call()
    assert not file.exists()
    assert app.memory("beta").stats().total_memories == 1
    assert app.delete_workspace("alpha", confirm=True).id == "alpha"
    assert names(app) == ["beta"]
    app.memory("alpha").remember("anew")
    assert app.memory("alpha").stats().total_memories == 1


def test_nothing_is_written_into_a_file_that_vanished_while_it_was_open(app: App, home: Path) -> None:
    app.memory("alpha").remember("x")
    file = store_files.file_of(home, "alpha")
    for path in file.parent.glob(f"{file.name}*"):
        path.unlink()
    with pytest.raises(StoreCorrupt, match="is missing"):
        app.memory("alpha").remember("this would be lost")


def test_a_file_that_was_replaced_while_it_was_open_is_the_one_that_is_used(app: App, home: Path) -> None:
    """As when somebody puts a backup back."""
    app.memory("alpha").remember("in the backup")
    app.close()
    file = store_files.file_of(home, "alpha")
    backup = file.with_suffix(".backup")
    shutil.copy(file, backup)
    app.memory("alpha").remember("after the backup")
    app.close()
    backup.rename(file)
    assert app.memory("alpha").stats().total_memories == 1
    app.memory("alpha").remember("new")
    assert store_files.query(file, "select text from memory") == ["in the backup", "new"]


def test_a_home_that_was_removed_while_it_was_open_is_made_again(app: App, home: Path) -> None:
    app.memory("alpha").remember("gone")
    shutil.rmtree(home)
    assert app.workspaces() == []
    with pytest.raises(UnknownWorkspace, match="none yet"):
        app.memory("alpha").search("gone")
    assert not home.exists()
    app.memory("alpha").remember("new")
    assert store_files.query(store_files.file_of(home, "alpha"), "select text from memory") == ["new"]


def test_a_registry_that_was_lost_while_it_was_open_is_made_again(make: Callable[..., App], home: Path) -> None:
    one, other = make(), make()
    one.memory("alpha").remember("kept")
    other.memory("beta").remember("kept")
    lose_registry(home)
    one.memory("gamma").remember("new")
    for app in (one, other, make()):
        assert names(app) == ["alpha", "beta", "gamma"]


def test_a_registry_without_its_log_is_lost_and_the_log_alone_is_no_registry(
    make: Callable[..., App], home: Path
) -> None:
    one = make()
    one.memory("alpha").remember("kept")
    assert (home / "registry.db-wal").exists()
    (home / "registry.db").unlink()
    assert names(make()) == ["alpha"]
    assert names(one) == ["alpha"]


@pytest.mark.parametrize("damage", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_registry_is_named_and_can_be_moved_away(make: Callable[..., App], home: Path, damage: bytes) -> None:
    app = make()
    app.memory("alpha").remember("kept")
    app.close()
    registry = home / "registry.db"
    registry.write_bytes(damage)
    app = make()
    for call in (app.workspaces, app.memory("alpha").stats, lambda: app.memory("alpha").remember("x")):
        with pytest.raises(StoreCorrupt, match=r"registry\.db .*move it away"):
            call()
    assert registry.read_bytes() == damage
    registry.rename(home / "aside")
    assert names(app) == ["alpha"]
    assert app.memory("alpha").stats().total_memories == 1


def test_a_damaged_workspace_can_be_deleted(make: Callable[..., App], home: Path) -> None:
    app = make()
    app.memory("alpha").remember("x")
    app.close()
    file = store_files.file_of(home, "alpha")
    file.write_bytes(b"garbage" * 1000)
    app = make()
    with pytest.raises(StoreCorrupt, match=file.name):
        app.memory("alpha").stats()
    app.delete_workspace("alpha", confirm=True)
    assert names(app) == []
    assert file.read_bytes() == b"garbage" * 1000


def test_making_a_workspace_that_cannot_be_registered_leaves_no_file(app: App, home: Path) -> None:
    app.create_workspace("alpha")
    files = set((home / "workspaces").iterdir())
    with store_files.open_file(home / "registry.db") as db:
        db.execute("create unique index one_description on workspace (description)")
    with pytest.raises(AlreadyExists):  # SQLite calls it a constraint
        app.create_workspace("beta")
    assert set((home / "workspaces").iterdir()) == files


def test_the_registry_is_whole(app: App, home: Path) -> None:
    for name in ("a", "b", "c"):
        app.create_workspace(name)
    with store_files.open_file(home / "registry.db") as db:
        assert db.pragma("integrity_check") == "ok"
        assert db.pragma("journal_mode") == "wal"
        with pytest.raises(apsw.ConstraintError):
            db.execute("insert into workspace (name, file, created_at) values ('a', 'x', 0)")
