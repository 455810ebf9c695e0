"""Workspaces go from one engine to the other and come back the same."""

import sqlite3
from pathlib import Path

import pytest

from memsweep.app import App, make_app
from memsweep.errors import AlreadyExists, BadInput, StoreCorrupt
from memsweep.settings import load_settings
from tests.care import stores
from tests.care.conftest import template as template
from tests.care.test_hostile_backups import HEADER, ROWS, SCHEMA
from tests.support import store_files
from tests.support.engines import Home


@pytest.fixture
def app(tmp_path: Path):
    app = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path / "here")}))
    yield app
    app.close()


@pytest.fixture
def server(tmp_path: Path):
    home = Home("falkor", tmp_path / "nothing")
    yield home.url
    home.close()


def fill(app: App, tmp_path: Path) -> None:
    memory = app.memory()
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "app.py").write_text("def first():\n    return second()\n")
    memory.code.index(tmp_path / "repository")
    for number in range(25):
        memory.remember(
            f"note {number} of 東京", entities=["Ada", f"Thing {number}"], tags=["a", "b"], thread_id="talk"
        )
    window = memory.context("session")
    window.add([{"segment_id": f"s{n}", "text": f"message {n}", "type": "message"} for n in range(5)])
    window.prune(["s1"], strategy="stash")
    changed = memory.remember("to be changed", entities=["Ada"])
    memory.update(changed.memory_id, text="changed, with Thing 3", tags=["c"])
    gone = memory.remember("to the trash", entities=["Gone"])
    memory.delete(gone.memory_id, confirm=True)


def test_a_copy_on_falkor_can_be_searched_and_its_trash_undone(app: App, server: str, tmp_path: Path) -> None:
    fill(app, tmp_path)
    app.copy_workspace("default", "sqlite", server)
    there = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path), "MEMSWEEP_STORE": server}))
    try:
        memory = there.memory()
        assert memory.search("note 7 of 東京").hits[0].passage.text == "note 7 of 東京"
        (gone,), total = memory.sweep.trash()[0][:1], 1
        assert (gone.name, total) == ("to the trash", 1)
        memory.sweep.recover(gone.id)
        assert memory.search("trash").hits[0].passage.text == "to the trash"
        assert memory.care.doctor().findings == ()
    finally:
        there.close()


def test_a_copy_does_not_overwrite(app: App, server: str, tmp_path: Path) -> None:
    fill(app, tmp_path)
    app.copy_workspace("default", "", server)
    with pytest.raises(AlreadyExists):
        app.copy_workspace("default", "", server)
    assert app.copy_workspace("default", "", server, replace=True).receipt_id is not None
    with pytest.raises(BadInput, match="replace itself"):
        app.copy_workspace("default", "", "sqlite")


def test_what_was_copied_to_falkor_comes_back_from_its_trash(app: App, server: str, tmp_path: Path) -> None:
    """A copied memory may have the number of a copied chunk, and be another node."""
    for number in range(130):
        app.memory().remember(f"the lamp of room {number} is broken. " * (1 + number % 3))
    app.copy_workspace("default", "", server)
    there = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path / "there"), "MEMSWEEP_STORE": server}))
    memory = there.memory()
    memory.remember("the lamp of the hall is broken")
    before = memory.stats()
    applied = memory.sweep.apply(memory.sweep.plan("expired", ttl_days=1e-9).id, confirm=True, allow_large=True)
    assert memory.stats().total_memories == 0
    undone = memory.sweep.undo(applied.id)
    assert (undone.totals.memories, undone.totals.chunks) == (131, before.total_chunks)
    assert (memory.stats().total_memories, memory.stats().total_chunks) == (131, before.total_chunks)
    assert memory.search("the lamp of room 77").hits[0].passage.text.startswith("the lamp of room 77 ")
    assert memory.care.doctor().findings == ()
    there.close()


def test_a_damaged_backup_is_not_restored_into_falkor(app: App, server: str, tmp_path: Path) -> None:
    fill(app, tmp_path)
    app.memory().care.backup(tmp_path / "backup")
    with sqlite3.connect(tmp_path / "backup") as db:
        db.execute("update chunk set text = 'forged' where id = 3")
    there = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path), "MEMSWEEP_STORE": server}))
    try:
        with pytest.raises(StoreCorrupt, match="is damaged"):
            there.restore(tmp_path / "backup", "default")
        assert there.workspaces() == []
    finally:
        there.close()


FORGED = ("a trigger on insert", "a table less", "another default", "an endless view in place of a table",
          "text that is none", "a negative id", "an endless confidence", "a vector of a byte", "two billion pages",
          "a path for a generation", "a table that leads to itself")  # fmt: skip


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_backup_leaves_nothing_on_the_server(server: str, template: Path, tmp_path: Path, case: str) -> None:
    stores.copy_of(template, tmp_path / "filled")
    filled = stores.open_app(tmp_path / "filled")
    filled.memory().care.backup(tmp_path / "copy.backup")
    filled.close()
    (SCHEMA | HEADER | ROWS)[case](tmp_path / "copy.backup")
    there = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path), "MEMSWEEP_STORE": server}))
    try:
        with pytest.raises(StoreCorrupt, match=r"copy\.backup is damaged or is not a backup.*nothing was changed"):
            there.restore(tmp_path / "copy.backup")
        assert there.workspaces() == []
        assert there.engine.all_graphs() == []  # type: ignore[attr-defined]
    finally:
        there.close()


def test_a_key_of_what_was_purged_is_not_given_out_again_on_falkor(app: App, server: str, tmp_path: Path) -> None:
    fill(app, tmp_path)
    app.memory().sweep.purge(0, confirm=True)
    with store_files.open_file(store_files.file_of(tmp_path / "here")) as db:
        db.execute("update sqlite_sequence set seq = 5000 where name = 'memory'")
    app.copy_workspace("default", "", server)
    there = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path), "MEMSWEEP_STORE": server}))
    try:
        there.memory().remember("one more")
        with store_files.into(there.memory()) as db:
            assert db.execute("select max(id) > 5000 from memory").fetchone() == (1,)
    finally:
        there.close()
