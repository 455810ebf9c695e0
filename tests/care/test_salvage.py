"""A file whose pages are damaged: what can be read is saved into a new file, and the damaged one is kept."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import NotFound
from memsweep.services.memory import Memory
from tests.care.test_doctor import left, names
from tests.support import store_files

MANY = 400
PAGE = 4096


@pytest.fixture
def many(make: Callable[..., App], home: Path) -> dict[str, str]:
    """Texts by id, on many pages; nobody has the file open."""
    app = make()
    memory = app.memory()
    added = {
        memory.remember(text, tags=[f"n{number}"]).memory_id: text
        for number in range(MANY)
        for text in [f"note number {number} " + f"of the many words {number} that fill a page " * 4]
    }
    app.close()
    return added


def page_of(data: bytes, said: bytes) -> int:
    at = data.find(said)
    assert at >= 0
    return at // PAGE


def break_pages(file: Path, pages: list[int]) -> bytes:
    data = bytearray(file.read_bytes())
    for page in pages:
        data[page * PAGE : page * PAGE + 200] = b"\xff" * 200
    file.write_bytes(data)
    return bytes(data)


def texts_of(memory: Memory, ids: list[str]) -> dict[str, str]:
    found = {}
    for memory_id in ids:
        with contextlib.suppress(NotFound):
            found[memory_id] = memory.get(memory_id).text
    return found


@pytest.mark.slow
@pytest.mark.parametrize("broken", [[50], [0], [50, 200, 350], [399]])
def test_what_stands_on_other_pages_is_saved(
    many: dict[str, str], make: Callable[..., App], home: Path, broken: list[int]
) -> None:
    file = store_files.file_of(home)
    data = file.read_bytes()
    pages = sorted({page_of(data, f"note number {number} of".encode()) for number in broken})
    damaged = break_pages(file, pages)
    app = make()
    memory = app.memory()
    assert "file_damaged" in names(memory.care.doctor())
    checkup = memory.care.doctor(repair=True)
    assert left(checkup) <= {"memory_without_chunks", "chunk_without_memory"}
    assert checkup.notes == ()
    told = " ".join(checkup.lost)
    assert "were saved into a new file" in told
    now = store_files.file_of(home)
    assert now != file
    assert not file.exists()
    (kept,) = (home / "workspaces").glob("*.sqlite")
    assert str(kept) in told
    assert kept.read_bytes() == damaged
    found = texts_of(memory, list(many))
    assert all(many[own] == text for own, text in found.items())
    assert len(found) >= MANY - 60 * len(pages)
    assert memory.search("note number 120 words").hits
    assert memory.remember("something new").memory_id not in many
    app.close()
    assert make().memory().care.doctor().findings == checkup.left


@pytest.mark.slow
def test_of_a_file_that_is_none_nothing_is_changed(many: dict[str, str], make: Callable[..., App], home: Path) -> None:
    file = store_files.file_of(home)
    file.write_bytes(b"nothing like it" * 500)
    checkup = make().memory().care.doctor(repair=True)
    assert left(checkup) == {"file_damaged", "file_unreadable"}
    assert any("can be read (" in note and "backup" in note for note in checkup.notes)
    assert file.read_bytes() == b"nothing like it" * 500


@pytest.mark.slow
def test_keys_are_not_given_out_again(many: dict[str, str], make: Callable[..., App], home: Path) -> None:
    file = store_files.file_of(home)
    with store_files.open_file(file) as db:
        db.execute("alter table thread add column mood")
        last = db.execute("select name, seq from sqlite_sequence order by 1").fetchall()
    app = make()
    assert left(app.memory().care.doctor(repair=True)) == set()
    now = dict(store_files.query(store_files.file_of(home), "select name, seq from sqlite_sequence"))
    assert all(now.get(name, 0) >= seq for name, seq in last if name != "sqlite_sequence")
