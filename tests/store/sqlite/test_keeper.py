"""The connections of a process: few, for any number of files, and none in the hands of who waits."""

import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.store.file import connect
from tests.support import store_files
from tests.support.waiting import wait_for

FILES = 60


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """A limit that this process has passed already: what was open before counts, and nothing more is opened for it."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (120, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _open_below(home: Path) -> list[str]:
    """The files of a home that this process has open."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            found.append(os.readlink(link))
        except FileNotFoundError:
            continue
    return [each for each in found if each.startswith(str(home))]


@pytest.mark.parametrize(
    ("descriptors", "most"), [(32, 8), (256, 21), (768, 64), (1024, 64), (1_048_576, 64), (float("inf"), 64)]
)
def test_connections_fit_into_half_of_the_descriptors(descriptors: float, most: int) -> None:
    assert connect.most_connections(descriptors) == most


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.usefixtures("few_descriptors")
def test_what_was_used_longest_ago_is_closed_and_opened_again_when_it_is_asked(app: App, home: Path) -> None:
    most = connect.most_connections(120)
    for number in range(FILES):
        app.memory(f"w{number}").remember(f"The harbour of w{number} was rebuilt.")
        assert len(connect._keeper.opened) <= most
    found = _open_below(home)
    assert len(found) <= 5 * most
    assert not any(file.endswith("(deleted)") for file in found)
    for number in range(FILES):
        (hit,) = app.memory(f"w{number}").search("Was the harbour rebuilt?").hits
        assert f"w{number}" in hit.passage.text


def test_vectors_are_let_go_with_the_last_connection_of_a_file(app: App) -> None:
    memory = app.memory("notes")
    memory.remember("The harbour was rebuilt.")
    memory.search("harbour")
    store = memory._access.store
    assert store._vectors.held_bytes() > 0
    store.close()
    assert store._vectors.held_bytes() == 0
    assert memory.search("harbour").hits


def test_who_waits_for_another_process_holds_no_connection(app: App, home: Path) -> None:
    memory = app.memory("notes")
    memory.remember("The harbour was rebuilt.")
    pool = memory._access.store._pool
    with store_files.held(home, "notes"):
        texts = [f"The violin came, {number}." for number in range(9)]
        writers = [threading.Thread(target=memory.remember, args=(text,)) for text in texts]
        for writer in writers:
            writer.start()
        wait_for(pool.turn.locked, "a writer to wait")
        wait_for(lambda: not pool.in_use, "the connections to be given back")
    for writer in writers:
        writer.join()
    assert memory.stats().total_memories == 10
