"""`kill -9` at any moment: what was acknowledged is there, and nothing is there by half."""

import random
from pathlib import Path

import pytest

from memsweep.app import App
from tests.support import store_files
from tests.support.counts import TIMES, rounds
from tests.support.fork_server import ForkServer
from tests.support.jobs import text_of_turn

ROUNDS = 20 * TIMES


@pytest.mark.soak
def test_a_writer_killed_20_times_loses_nothing_it_acknowledged(fork_server: ForkServer, home: Path) -> None:
    chance = random.Random(25)
    acknowledged: dict[str, str] = {}
    for round_ in range(ROUNDS):
        child = fork_server.fork("add_until_killed", home, prefix=f"round {round_}")
        said = [child.said() for _ in range(chance.randrange(1, 15))]
        said += child.kill()
        acknowledged |= {memory_id: text_of_turn(f"round {round_}", number) for memory_id, number in said}
        file = store_files.file_of(home)
        assert store_files.problems(file) == []
    stored = dict(store_files.query(store_files.file_of(home), "select uid, text from live_memory"))
    assert acknowledged.items() <= stored.items()
    assert len(stored) <= len(acknowledged) + ROUNDS  # each may have written one that it could not acknowledge any more


@pytest.mark.soak
def test_writers_killed_while_others_write_lose_nothing_and_stop_nobody(fork_server: ForkServer, home: Path) -> None:
    chance = random.Random(26)
    acknowledged: dict[str, str] = {}
    survivor = fork_server.fork("add_until_killed", home, prefix="survivor")
    for round_ in range(rounds(4, 6)):
        children = {
            name: fork_server.fork("add_until_killed", home, prefix=name) for name in (f"a{round_}", f"b{round_}")
        }
        for name, child in children.items():
            said = [child.said() for _ in range(chance.randrange(1, 8))]
            acknowledged |= {uid: text_of_turn(name, number) for uid, number in said + child.kill()}
        acknowledged |= {uid: text_of_turn("survivor", number) for uid, number in [survivor.said() for _ in range(3)]}
    acknowledged |= {uid: text_of_turn("survivor", number) for uid, number in survivor.kill()}
    file = store_files.file_of(home)
    assert store_files.problems(file) == []
    assert acknowledged.items() <= dict(store_files.query(file, "select uid, text from live_memory")).items()


@pytest.mark.soak
def test_the_first_write_killed_at_any_moment_can_be_repeated(fork_server: ForkServer, tmp_path: Path) -> None:
    """While the folder, the registry and the first workspace are being made."""
    chance = random.Random(27)
    for round_ in range(rounds(6, 10)):
        home = tmp_path / f"home{round_}"
        children = [
            fork_server.fork("attempt_when_told", home, first=[], then=[["remember", {"text": "first"}]])
            for _ in range(3)
        ]
        for child in children:
            child.said()
            child.go()
        while chance.random() < 0.995 and not (home / "registry.db").exists():
            pass
        for _ in range(chance.randrange(3000)):
            pass
        for child in children[:2]:
            child.kill()
        assert "result" in children[2].report()[0]
        (outcome,) = fork_server.fork("attempt", home, calls=[["remember", {"text": "first"}]]).report()
        assert outcome["result"]["duplicate_of"] is not None
        (file,) = store_files.files_of(home)
        assert store_files.problems(file) == []
        assert store_files.count(file) == 1


def test_a_workspace_is_readable_at_once_after_a_crash(fork_server: ForkServer, home: Path, app: App) -> None:
    child = fork_server.fork("add_until_killed", home, prefix="p")
    said = [child.said() for _ in range(12)]
    said += child.kill()
    memory = app.memory()
    for memory_id, number in said:
        assert memory.get(memory_id).text == text_of_turn("p", number)
    assert memory.search("turn 5 Grace Hopper").hits
    assert memory.remember("life goes on").duplicate_of is None
