"""A log that lost what was acknowledged is noticed; one that did not is never accused."""

import logging
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from memsweep.app import App, make_app
from memsweep.services.memory import Memory
from memsweep.settings import load_settings
from memsweep.store.file import commit_marker
from memsweep.store.file.commit_marker import Mark
from tests.support import store_files
from tests.support.fork_server import ForkServer

FRAME = 24 + 4096


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[Path], App]]:
    """Open a home, and close it at the end."""
    apps: list[App] = []

    def open_one(home: Path) -> App:
        apps.append(make_app(load_settings({"MEMSWEEP_HOME": str(home)})))
        return apps[-1]

    yield open_one
    for app in apps:
        app.close()


def killed(home: Path, image: Path) -> Path:
    """What a kill of every process would leave of a home."""
    shutil.copytree(home, image, ignore=shutil.ignore_patterns("*-shm"))
    return image


def log_of(home: Path) -> Path:
    (file,) = (home / "workspaces").glob("*.db-wal")
    return file


def flip(file: Path, spot: int) -> None:
    data = bytearray(file.read_bytes())
    data[spot] ^= 0x10
    file.write_bytes(data)


def in_the_last_frame(file: Path) -> None:
    flip(file, file.stat().st_size - 100)


def in_the_first_frame(file: Path) -> None:
    flip(file, 100)


def in_the_header(file: Path) -> None:
    flip(file, 17)


def cut_short(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def removed(file: Path) -> None:
    file.unlink()


HARMS = [in_the_last_frame, in_the_first_frame, in_the_header, cut_short, emptied, removed]


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("adds", [1, 2, 40])
def test_lost_adds_are_noticed_wherever_the_log_is_damaged(
    memory: Memory,
    home: Path,
    tmp_path: Path,
    opened: Callable[[Path], App],
    caplog: pytest.LogCaptureFixture,
    harm: Callable[[Path], None],
    adds: int,
) -> None:
    for number in range(adds):
        memory.remember(f"note number {number}")
    image = killed(home, tmp_path / "image")
    log = log_of(image)
    harm(log)
    damaged = log.read_bytes() if log.exists() else b""
    with caplog.at_level(logging.WARNING, "memsweep.store"):
        again = opened(image).memory()
        stats = again.stats()
    assert stats.total_memories < adds
    assert "has lost writes that were acknowledged" in caplog.text
    (warning,) = stats.warnings
    assert "memsweep doctor" in warning
    kept = list((image / "workspaces").glob("*.lost-*.wal"))
    assert [file.read_bytes() for file in kept] == ([damaged] if damaged else [])
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in kept)
    (found,) = again.care.doctor().findings
    assert found.invariant == "writes_lost"
    repaired = again.care.doctor(repair=True)
    assert not repaired.left
    (lost,) = repaired.lost
    assert "has lost writes" in lost
    assert again.stats().warnings == ()
    assert again.care.doctor().findings == ()


def test_a_lost_change_that_made_no_row_is_noticed_too(
    memory: Memory, home: Path, tmp_path: Path, opened: Callable[[Path], App]
) -> None:
    memory.remember("one and the same")
    before = commit_marker.read(store_files.file_of(home))
    memory.remember("one and the same")
    after = commit_marker.read(store_files.file_of(home))
    assert before
    assert after
    assert (after.salts, after.rows) == (before.salts, before.rows)
    assert after.frames > before.frames
    image = killed(home, tmp_path / "image")
    in_the_last_frame(log_of(image))
    assert opened(image).memory().stats().warnings


def test_a_loss_is_said_once_and_new_writes_do_not_hide_it(
    memory: Memory, home: Path, tmp_path: Path, opened: Callable[[Path], App], caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5):
        memory.remember(f"note number {number}")
    image = killed(home, tmp_path / "image")
    in_the_last_frame(log_of(image))
    for number in range(3):
        app = opened(image)
        app.memory().remember(f"after it, {number}")
        assert len(app.memory().stats().warnings) == 1
        app.close()
    assert caplog.text.count("has lost writes") == 1


def test_the_damaged_log_goes_with_the_next_purge(
    memory: Memory, home: Path, tmp_path: Path, opened: Callable[[Path], App]
) -> None:
    gone = memory.remember("qsecret7731zv").memory_id
    memory.remember("another")
    image = killed(home, tmp_path / "image")
    in_the_last_frame(log_of(image))
    again = opened(image).memory()
    assert again.stats().warnings
    again.delete(gone, confirm=True, forever=True)
    assert not any(b"qsecret7731zv" in path.read_bytes() for path in image.rglob("*") if path.is_file())


def use(memory: Memory) -> Iterator[None]:
    """All kinds of writes; the log is begun anew several times."""
    ids = []
    for number in range(30):
        ids.append(memory.remember(f"note number {number} with {'many words ' * 50}").memory_id)
        yield
    receipt = memory.delete(ids[0], confirm=True)
    yield
    memory.sweep.undo(receipt.id)
    yield
    memory.delete(ids[1], confirm=True)
    memory.sweep.purge(0, confirm=True)
    yield
    memory.remember("after the purge")
    yield
    memory.care.compact()
    yield
    memory.remember("after the compaction")
    yield
    memory.delete(ids[2], confirm=True, forever=True)
    yield
    memory.care.reembed()
    yield
    memory.pin(ids[3])
    yield
    memory.care.doctor(repair=True)
    yield


@pytest.mark.slow
def test_a_kill_at_any_moment_is_no_loss(
    memory: Memory, home: Path, tmp_path: Path, opened: Callable[[Path], App]
) -> None:
    for number, _ in enumerate(use(memory)):
        image = killed(home, tmp_path / f"image{number}")
        app = opened(image)
        assert app.memory().stats().warnings == ()
        assert app.memory().care.doctor().findings == ()
        app.close()
        assert opened(image).memory().stats().warnings == ()


@pytest.mark.slow
def test_a_mark_that_is_behind_missing_or_damaged_accuses_nobody(
    memory: Memory, home: Path, tmp_path: Path, opened: Callable[[Path], App]
) -> None:
    memory.remember("first")
    file = store_files.file_of(home)
    beside = file.with_name(file.name + "-mark")
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    behind = beside.read_bytes()
    for number in range(5):
        memory.remember(f"note number {number}")
    whole = beside.read_bytes()
    others = {"behind": behind, "empty": b"", "zeros": bytes(len(whole)), "torn": whole[:20], "long": whole + b"x"}
    others |= {f"bit {n}": whole[:n] + bytes([whole[n] ^ 4]) + whole[n + 1 :] for n in range(len(whole))}
    for name, content in others.items():
        image = killed(home, tmp_path / name)
        (image / "workspaces" / beside.name).write_bytes(content)
        app = opened(image)
        assert app.memory().stats().warnings == (), name
        app.close()


def test_a_folder_in_the_place_of_the_mark_does_no_harm(memory: Memory, home: Path) -> None:
    memory.remember("first")
    file = store_files.file_of(home)
    memory.close()
    beside = file.with_name(file.name + "-mark")
    beside.unlink()
    beside.mkdir()
    memory.remember("second")
    assert memory.stats().total_memories == 2
    assert memory.stats().warnings == ()


@pytest.mark.slow
def test_writers_that_are_killed_among_each_other_are_no_loss(fork_server: ForkServer, home: Path, app: App) -> None:
    app.memory().remember("first")
    app.close()
    calls = [["remember", {"text": f"{{}} number {number} {'of many words ' * 40}"}] for number in range(60)]
    writers = [
        fork_server.fork("attempt", home, calls=[[name, {"text": given["text"].format(who)}] for name, given in calls])
        for who in range(4)
    ]
    for writer in writers[:2]:
        os.kill(writer.pid, 9)
    done = sum("result" in outcome for writer in writers[2:] for outcome in writer.report())
    assert done == 120
    assert app.memory().stats().total_memories >= 121
    assert app.memory().stats().warnings == ()


def test_the_registry_is_watched_too(app: App, home: Path, tmp_path: Path, opened: Callable[[Path], App]) -> None:
    app.create_workspace("one")
    app.create_workspace("two")
    image = killed(home, tmp_path / "image")
    in_the_last_frame(image / "registry.db-wal")
    again = opened(image)
    assert [workspace.id for workspace in again.workspaces()] == ["one"]
    found = {finding.invariant for finding in again.memory("one").care.doctor().findings}
    assert "registry_writes_lost" in found
    repaired = again.memory("one").care.doctor(repair=True)
    assert not repaired.left
    assert any("registry.db has lost writes" in said for said in repaired.lost)


CASES = {
    "nothing new": (Mark(b"a" * 8, 5, 7), Mark(b"a" * 8, 5, 7), False),
    "more frames": (Mark(b"a" * 8, 5, 7), Mark(b"a" * 8, 6, 7), False),
    "fewer frames": (Mark(b"a" * 8, 5, 7), Mark(b"a" * 8, 4, 7), True),
    "another log": (Mark(b"a" * 8, 5, 7), Mark(b"b" * 8, 1, 7), False),
    "no log": (Mark(b"a" * 8, 5, 7), Mark(bytes(8), 0, 7), False),
    "there never was a log": (Mark(bytes(8), 5, 7), Mark(bytes(8), 0, 7), False),
    "another log and fewer rows": (Mark(b"a" * 8, 5, 7), Mark(b"b" * 8, 9, 6), True),
}


@pytest.mark.parametrize("case", CASES)
def test_what_counts_as_lost(case: str) -> None:
    before, now, lost = CASES[case]
    assert before.has_lost(now) is lost


def test_the_salts_are_those_of_the_log(memory: Memory, home: Path) -> None:
    """The mark follows the log when it is begun anew, whoever does that."""
    memory.remember("first")
    file = store_files.file_of(home)
    before = commit_marker.read(file)
    with store_files.open_file(file) as db:
        db.execute("select count(*) from memory").fetchall()  # until it reads, it does not know that there is a log
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    memory.remember("second")
    after = commit_marker.read(file)
    assert before
    assert after
    assert after.salts != before.salts
    assert after.rows > before.rows
    assert after.salts == log_of(home).read_bytes()[16:24]
    assert after.frames * FRAME <= log_of(home).stat().st_size
