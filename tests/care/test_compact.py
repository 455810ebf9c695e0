"""Compact: the space comes back, the content stays, readers are not disturbed."""

from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import StoreBusy
from memsweep.model.care import Checkup
from memsweep.store.file import connect
from memsweep.store.sqlite import vectors
from tests.care import stores
from tests.support import store_files

HEALTHY = Checkup("default", ())


@pytest.fixture
def hollow(filled: Path, app: App) -> Path:
    """A file with much free space in it."""
    memory = app.memory()
    for number in range(60):
        memory.delete(memory.remember(f"{number} is gone soon. " * 300).memory_id, confirm=True)
    memory.sweep.purge(0, confirm=True)
    return filled


@pytest.mark.slow
def test_the_space_comes_back_and_the_content_stays(hollow: Path, app: App) -> None:
    before = stores.dump(hollow)
    result = app.memory().care.compact()
    assert result.finished
    assert result.bytes_after < result.bytes_before / 2
    assert hollow.stat().st_size <= result.bytes_after
    assert stores.dump(hollow) == before
    assert app.memory().care.doctor() == HEALTHY
    assert app.memory().search("Ada").hits
    assert app.memory().care.compact().bytes_after == result.bytes_after


@pytest.mark.slow
def test_nothing_of_what_was_purged_is_left_in_the_file(hollow: Path, app: App) -> None:
    app.memory().care.compact()
    app.close()
    assert b"is gone soon" not in hollow.read_bytes()


@pytest.mark.slow
def test_a_reader_keeps_its_state_and_the_file_shrinks_when_it_is_done(hollow: Path, app: App) -> None:
    with store_files.open_file(hollow) as reader:
        reader.execute("begin")
        seen = reader.execute("select uid from live_memory order by id").fetchall()
        app.memory().remember("written while somebody reads")
        held = app.memory().care.compact()
        assert not held.finished
        assert reader.execute("select uid from live_memory order by id").fetchall() == seen
        reader.execute("rollback")
    freed = app.memory().care.compact()
    assert freed.finished
    assert freed.bytes_after < held.bytes_after
    assert app.memory().care.doctor() == HEALTHY


@pytest.mark.slow
def test_a_writer_that_does_not_let_go_is_said(hollow: Path, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "BUSY_SECONDS", 0.2)
    before = stores.dump(hollow)
    with store_files.open_file(hollow) as writer:
        writer.execute("begin immediate")
        with pytest.raises(StoreBusy, match="another process"):
            app.memory().care.compact()
        writer.execute("rollback")
    assert stores.dump(hollow) == before


@pytest.mark.slow
def test_the_vector_file_holds_only_what_is_there(hollow: Path, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_TAIL_MIN", 3)
    app.memory().search("Ada")
    sizes = sum(file.stat().st_size for file in hollow.parent.glob("*.vec"))
    with store_files.open_file(hollow) as db:
        db.execute("delete from code_file; delete from memory where source = 'code_indexer'")
    app.memory().sweep.prune("orphaned_chunks", confirm=True)
    app.memory().sweep.purge(0, confirm=True)
    app.memory().care.compact()
    (file,) = hollow.parent.glob("*.vec")
    assert 0 < file.stat().st_size < sizes
    assert app.memory().care.doctor(repair=True).left == ()
