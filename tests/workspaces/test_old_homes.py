"""Homes of earlier versions: without intents, and with what their crashes left."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import StoreReadOnly
from memsweep.store.file.schema import REGISTRY_MIGRATIONS
from tests.support import store_files
from tests.workspaces.killed_at_each_step import fill, leftovers


@pytest.fixture
def old_home(home: Path) -> Path:
    """As a version without intents, projects and tokens made it."""
    fill(home)
    with store_files.open_file(home / "registry.db") as db:
        db.execute("drop table intent")
        db.execute("drop table pending_event")
        db.execute("drop table token")
        db.execute("drop index workspace_by_project")
        db.execute("alter table workspace drop column project")
        db.pragma("user_version", 1)
    return home


def test_a_home_of_an_earlier_version_opens_and_works(old_home: Path, make: Callable[..., App]) -> None:
    app = make()
    assert [workspace.id for workspace in app.workspaces()] == ["default", "other"]
    receipt = app.delete_workspace("other", confirm=True).receipt_id
    assert receipt is not None
    app.undo(receipt)
    app.create_workspace("new")
    assert app.memory("other").stats().total_memories == 3
    assert app.memory().care.doctor().findings == ()
    assert store_files.query(old_home / "registry.db", "pragma user_version") == [len(REGISTRY_MIGRATIONS)]


def test_drafts_that_an_earlier_version_left_go_with_the_next_clean_up(
    old_home: Path, make: Callable[..., App]
) -> None:
    draft = old_home / "workspaces" / ".restore.999999999.0123abcd.draft"
    draft.write_bytes(b"half of a backup")
    app = make()
    backup = app.memory("other").care.backup(old_home.parent / "copy.backup")
    app.restore(backup.path, "new")
    assert not draft.exists()
    assert leftovers(old_home) == []


def test_an_intent_never_removes_a_file_that_the_registry_knows(old_home: Path, make: Callable[..., App]) -> None:
    make().workspaces()
    file = store_files.file_of(old_home, "other")
    with store_files.open_file(old_home / "registry.db") as db:
        db.execute("insert into intent values (?, 'remove', 'nobody')", (file.name,))
    app = make()
    assert app.memory("other").stats().total_memories == 3
    assert leftovers(old_home) == []


@pytest.mark.parametrize("file", ["../../precious.db", "/precious.db", "", ".db", "*.db"])
def test_an_intent_leads_nowhere_but_to_a_file_of_the_home(
    old_home: Path, make: Callable[..., App], tmp_path: Path, file: str
) -> None:
    """A registry that somebody has tampered with."""
    make().workspaces()
    precious = tmp_path / "precious.db"
    precious.write_bytes(b"not ours")
    with store_files.open_file(old_home / "registry.db") as db:
        db.execute("insert into intent values (?, 'remove', '0123456789abcdef')", (file,))
    app = make()
    assert app.memory("other").stats().total_memories == 3
    assert app.memory().care.doctor().findings == ()
    assert precious.exists()


def test_a_file_that_cannot_be_removed_is_said_and_removed_later(old_home: Path, make: Callable[..., App]) -> None:
    app = make()
    file = store_files.file_of(old_home, "other")
    app.delete_workspace("other", confirm=True)
    app.close()
    blocked = file.with_suffix(".vec.d")
    blocked.mkdir()  # unlink refuses a folder, whoever asks
    with pytest.raises(StoreReadOnly, match="the next command tries again"):
        make().purge_workspaces(0)
    blocked.rmdir()
    make().workspaces()
    assert not file.exists()
    assert leftovers(old_home) == []
