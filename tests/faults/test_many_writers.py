"""Several processes and threads at work on one workspace: nothing is lost and nobody sees an error."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import App
from tests.support import contents, store_files
from tests.support.counts import TIMES, rounds
from tests.support.fork_server import ForkServer

SAME = "the very same sentence about Ada Lovelace"


@pytest.mark.soak
def test_eight_processes_adding_hundreds_of_memories_to_a_new_workspace_lose_nothing(
    fork_server: ForkServer, home: Path
) -> None:
    each = rounds(100, 500)
    children = [fork_server.fork("add_many", home, prefix=f"writer {n}", count=each, wait=True) for n in range(8)]
    for child in children:
        assert child.said() == "ready"
    for child in children:
        child.go()
    ids = [memory_id for child in children for memory_id in child.report()]
    (file,) = store_files.files_of(home)
    assert len(ids) == len(set(ids)) == 8 * each
    assert set(contents.ids_in(home)) == set(ids)
    assert store_files.problems(file) == []
    assert list(file.parent.glob("*.db")) == [file]


@pytest.mark.soak
def test_writers_and_readers_at_once_find_what_they_wrote(fork_server: ForkServer, home: Path) -> None:
    children = [fork_server.fork("add_and_search", home, rounds=25 * TIMES, prefix=f"word{n}") for n in range(4)]
    assert [child.report() for child in children] == [0] * 4
    file = store_files.file_of(home)
    assert len(contents.ids_in(home)) == 4 * 25 * TIMES
    assert store_files.problems(file) == []


def test_the_same_text_from_several_processes_is_one_memory(fork_server: ForkServer, home: Path) -> None:
    calls = [["remember", {"text": SAME, "tags": ["common"]}]]
    children = [
        fork_server.fork(
            "attempt_when_told", home, first=[], then=[*calls, ["remember", {"text": SAME, "tags": [f"t{n}"]}]]
        )
        for n in range(6)
    ]
    for child in children:
        assert child.said() == []
        child.go()
    outcomes = [outcome["result"] for child in children for outcome in child.report()]
    assert len({outcome["memory_id"] for outcome in outcomes}) == 1
    assert sum(outcome["duplicate_of"] is None for outcome in outcomes) == 1
    file = store_files.file_of(home)
    with contents.opened(home) as memory:
        only = memory.get(outcomes[0]["memory_id"])
    assert set(only.tags) == {"common", *(f"t{n}" for n in range(6))}
    assert only.version == 12
    assert store_files.problems(file) == []


def test_a_workspace_created_by_two_processes_at_once_is_made_once(fork_server: ForkServer, home: Path) -> None:
    for round_ in range(3):
        call = ["create_workspace", {"workspace_id": f"w{round_}", "description": "x"}]
        children = [fork_server.fork("attempt_when_told", home, first=[], then=[call]) for _ in range(4)]
        for child in children:
            assert child.said() == []
        for child in children:
            child.go()
        outcomes = [child.report()[0] for child in children]
        assert Counter(outcome.get("error", "created") for outcome in outcomes) == {"created": 1, "AlreadyExists": 3}
    assert len(list((home / "workspaces").glob("*.db"))) == 3


def test_the_turns_of_a_thread_written_by_several_processes_have_one_order(fork_server: ForkServer, home: Path) -> None:
    calls = [["remember", {"text": f"turn {{}} {n}", "thread_id": "talk"}] for n in range(20)]
    children = [
        fork_server.fork(
            "attempt", home, calls=[["remember", {**call, "text": call["text"].format(who)}] for _, call in calls]
        )
        for who in range(4)
    ]
    for child in children:
        assert all("result" in outcome for outcome in child.report())
    rows = store_files.rows_in(store_files.file_of(home))["chunk"]
    assert [row["stream_position"] for row in rows] == list(range(80))


def test_who_has_a_deleted_workspace_open_writes_to_the_new_one(fork_server: ForkServer, home: Path, app: App) -> None:
    app.memory("alpha").remember("old")
    child = fork_server.fork(
        "attempt_when_told",
        home,
        workspace="alpha",
        first=[["remember", {"text": "older"}], ["search", {"query": "old", "mode": "deep"}]],
        then=[["stats", {}], ["search", {"query": "old"}], ["remember", {"text": "new"}], ["search", {"query": "new"}]],
    )
    assert len(child.said()[1]["result"]["hits"]) == 2
    app.delete_workspace("alpha", confirm=True)
    app.create_workspace("alpha")
    child.go()
    stats, found, added, again = child.report()
    assert stats["result"]["total_memories"] == 0
    assert found["result"]["hits"] == []
    assert added["result"]["duplicate_of"] is None
    assert [hit["passage"]["text"] for hit in again["result"]["hits"]] == ["new"]
    assert app.memory("alpha").stats().total_memories == 1


def test_who_has_a_deleted_workspace_open_is_told_it_is_gone(fork_server: ForkServer, home: Path, app: App) -> None:
    app.memory("alpha").remember("old")
    child = fork_server.fork(
        "attempt_when_told",
        home,
        workspace="alpha",
        first=[["stats", {}]],
        then=[["stats", {}], ["get", {"memory_id": "x"}]],
    )
    child.said()
    app.delete_workspace("alpha", confirm=True)
    child.go()
    assert [outcome["error"] for outcome in child.report()] == ["UnknownWorkspace"] * 2


def test_processes_that_find_the_registry_lost_make_it_again_together(
    fork_server: ForkServer, home: Path, app: App
) -> None:
    for number in range(5):
        app.memory(f"w{number}").remember("kept")
    app.close()
    for file in home.glob("registry.db*"):
        file.unlink()
    children = [
        fork_server.fork(
            "attempt_when_told",
            home,
            workspace=f"w{n}",
            first=[],
            then=[["remember", {"text": f"by {n}"}], ["stats", {}]],
        )
        for n in range(5)
    ]
    for child in children:
        child.said()
    for child in children:
        child.go()
    for child in children:
        _, stats = child.report()
        assert stats["result"]["total_memories"] == 2
    assert len(list((home / "workspaces").glob("*.db"))) == 5


def test_one_memory_may_be_used_by_many_threads(fork_server: ForkServer, home: Path) -> None:
    assert fork_server.fork("threads", home, count=8, rounds=10).report() == []
    file = store_files.file_of(home)
    assert len(contents.ids_in(home)) == 80
    assert store_files.problems(file) == []


def test_a_memory_that_was_open_when_its_process_forked_serves_both(fork_server: ForkServer, home: Path) -> None:
    assert fork_server.fork("fork_while_open", home, count=30).report() == 0
    file = store_files.file_of(home)
    assert len(contents.ids_in(home)) == 1 + 3 * 30
    assert store_files.problems(file) == []


def test_opening_a_home_twice_in_one_process_does_not_let_go_of_its_locks(
    fork_server: ForkServer, home: Path, make: Callable[..., App]
) -> None:
    """The system drops all locks of a process on a file when it closes any descriptor of it, whoever opened that."""
    first = make()
    first.memory("alpha").remember("before")
    make().memory("alpha").stats()
    (listed, _) = fork_server.fork(
        "attempt", home, workspace="alpha", calls=[["workspaces", {}], ["stats", {}]]
    ).report()
    assert [item["id"] for item in listed["result"]] == ["alpha"]
    first.create_workspace("beta")
    first.memory("alpha").remember("after")
    listed, stats = fork_server.fork(
        "attempt", home, workspace="alpha", calls=[["workspaces", {}], ["stats", {}]]
    ).report()
    assert [item["id"] for item in listed["result"]] == ["alpha", "beta"]
    assert stats["result"]["total_memories"] == 2


def test_readers_do_not_wait_for_a_writer(app: App, home: Path) -> None:
    app.memory().remember("something to find")
    with store_files.open_file(store_files.file_of(home)) as db:
        db.execute("begin immediate")
        db.execute("update memory set text = 'not yet'")
        assert app.memory().search("something").hits[0].passage.text == "something to find"
        assert app.memory().stats().total_memories == 1
        db.execute("rollback")
