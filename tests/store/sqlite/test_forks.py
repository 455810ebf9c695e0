"""A program that forks: the child has connections of its own, or is refused in a sentence."""

import os
import threading
from pathlib import Path

import pytest

from memsweep import forking
from memsweep.library import open_memory
from memsweep.services.memory import Memory
from tests.faults.forks import EACH, REFUSED, Child, close, held, patience, remember
from tests.support.waiting import wait_for

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture
def memory(home: Path) -> Memory:
    return open_memory("notes", home=home)


def _is_shut() -> bool:
    return forking.stores._shut_by != 0


@pytest.mark.parametrize("lease", ["reading", "writing"])
def test_a_fork_waits_for_a_thread_in_a_transaction_and_the_child_loses_nothing(
    lease: str, memory: Memory, home: Path
) -> None:
    before, begun = remember(memory, "the parent"), threading.Event()
    pool = memory._access.store._pool

    def work() -> None:
        with getattr(pool, lease)():
            begun.set()
            wait_for(_is_shut, "the fork")

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    child = Child(lambda: remember(memory, "the child"))
    thread.join()
    close(memory)
    child.go()
    said = child.said()
    assert len(said) == EACH
    again = open_memory("notes", home=home)
    assert all(again.get(each) for each in (*before, *said))
    assert again.care.doctor().findings == ()


def test_a_child_of_a_fork_that_could_not_wait_is_refused_at_once_and_the_parent_goes_on(memory: Memory) -> None:
    remember(memory, "the parent")
    with held(memory), patience(0.01):
        child = Child(lambda: remember(memory, "a ghost"))
        other = Child(lambda: remember(open_memory("others"), "a ghost"))
        child.go()
        other.go()
        assert [REFUSED in said for each in (child, other) for said in each.said()] == [True, True]
    remember(memory, "the parent again")
    assert memory.care.doctor().findings == ()


def test_a_thread_that_forks_inside_of_a_transaction_keeps_it_for_itself(memory: Memory) -> None:
    remember(memory, "the parent")
    with memory._access.store._pool.writing():
        child = Child(lambda: remember(memory, "a ghost"))
        child.go()
        (said,) = child.said()
        assert REFUSED in said
    remember(memory, "the parent again")
    assert memory.care.doctor().findings == ()


def test_workers_that_were_forked_beforehand_work_beside_their_master(memory: Memory) -> None:
    remember(memory, "the master")
    workers = [Child(lambda name=name: remember(memory, f"worker {name}"), generations=2) for name in range(3)]
    for worker in workers:
        worker.go()
    ids = [*remember(memory, "the master again"), *(each for worker in workers for each in worker.said())]
    assert len(ids) == 4 * EACH
    assert all(memory.get(each) for each in ids)


def test_a_lock_of_another_thread_is_free_in_a_child() -> None:
    lock = forking.new_lock()
    with lock:
        child = Child(lambda: [str(lock.acquire(timeout=10))])
        child.go()
        assert child.said() == ["True"]


@pytest.mark.slow
def test_a_child_parses_with_workers_of_its_own(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "one.py").write_text("def harbour():\n    return 1\n")
    assert memory.code.index(str(tmp_path / "repo")).files_indexed

    def index() -> list[str]:
        (tmp_path / "repo" / "two.py").write_text("def violin():\n    return 2\n")
        return [str(memory.code.index(str(tmp_path / "repo")).files_indexed)]

    child = Child(index)
    child.go()
    assert child.said() == ["1"]
    close(memory)
