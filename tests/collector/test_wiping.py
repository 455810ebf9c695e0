"""What comes after a commit may fail; the answer says what was done all the same."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from memsweep.app import App
from memsweep.errors import StoreError
from memsweep.services.memory import Memory
from tests.support import store_files
from tests.support.disk import Disk, refusing_disk

# In WAL mode the file itself is written by a checkpoint alone, and the log is cut by the last one.
REFUSALS = {
    "the file cannot be written": ("write", ".db", apsw.IOError),
    "the disk is full": ("write", ".db", apsw.FullError),
    "the file cannot be synced": ("sync", ".db", apsw.IOError),
    "the log cannot be cut": ("truncate", "-wal", apsw.IOError),
}
SECRET = "qsecret7731zv"


@pytest.fixture
def disk() -> Iterator[Disk]:
    with refusing_disk() as disk:
        yield disk


@pytest.fixture
def memory(disk: Disk, make: Callable[..., App]) -> Iterator[Memory]:
    memory = make().memory()
    yield memory
    disk.refusals.clear()
    memory.close()


def refuse(disk: Disk, case: str) -> None:
    operation, ending, error = REFUSALS[case]
    disk.refusals[operation, ending] = error


def purge(memory: Memory, memory_id: str) -> None:
    memory.delete(memory_id, confirm=True)
    memory.sweep.purge(0, confirm=True)


def forget(memory: Memory, memory_id: str) -> None:
    memory.delete(memory_id, confirm=True, forever=True)


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("free", [purge, forget])
def test_a_disk_error_after_the_deletion_is_not_reported_as_if_nothing_had_changed(
    memory: Memory, disk: Disk, home: Path, case: str, free: Callable[[Memory, str], None]
) -> None:
    gone = memory.remember(f"{SECRET} is in this one").memory_id
    memory.remember("this one stays")
    refuse(disk, case)
    with pytest.raises(StoreError) as raised:
        free(memory, gone)
    assert disk.refused
    said = str(raised.value)
    assert "nothing was changed" not in said
    assert "freed" in said or "deleted for good" in said
    assert "memsweep compact" in said
    assert memory.stats().total_memories == 1
    assert len(store_files.rows_in(store_files.file_of(home))["memory"]) == 1
    disk.refusals.clear()
    memory.care.compact()
    assert not any(SECRET.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("case", REFUSALS)
def test_a_disk_error_after_the_compaction_says_that_the_space_is_still_taken(
    memory: Memory, disk: Disk, case: str
) -> None:
    memory.remember("this one stays")
    refuse(disk, case)
    with pytest.raises(StoreError, match="could not be given back yet") as raised:
        memory.care.compact()
    assert disk.refused
    assert "nothing was changed" not in str(raised.value)
    disk.refusals.clear()
    assert memory.care.compact().finished
    assert memory.stats().total_memories == 1


def test_a_vector_file_that_cannot_be_removed_is_named(memory: Memory, home: Path) -> None:
    gone = memory.remember(f"{SECRET} is in this one").memory_id
    stem = store_files.file_of(home).stem
    in_the_way = home / "workspaces" / f"{stem}.None.1.vec"
    in_the_way.mkdir()  # also for root
    with pytest.raises(StoreError, match="deleted for good") as raised:
        forget(memory, gone)
    assert in_the_way.name in str(raised.value)
    in_the_way.rmdir()
