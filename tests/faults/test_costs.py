"""What a call costs by the size of the workspace: counted in steps of SQLite, as no clock says the same twice."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from memsweep import open_memory
from tests.faults import costs, long_runs

SMALL, LARGE = 60, 480
INDEPENDENT = ("add and delete", "delete and undo", "update", "get")
"""What touches a few rows costs the same in a workspace of any size; a list counts all that it could show."""


@pytest.fixture
def steps() -> Iterator[Callable[[Callable[[], object]], int]]:
    """Count the steps of SQLite's machine in a call."""
    done = 0

    def one_more() -> bool:
        nonlocal done
        done += 1
        return False

    def count(call: Callable[[], object]) -> int:
        before = done
        call()
        return done - before

    def hook(db: apsw.Connection) -> None:
        db.set_progress_handler(one_more, 1, id="steps")

    apsw.connection_hooks.append(hook)
    yield count
    apsw.connection_hooks.remove(hook)


def test_nothing_grows_faster_than_the_workspace(tmp_path: Path, steps: Callable[[Callable[[], object]], int]) -> None:
    counted = {}
    for before, size in ((0, SMALL), (SMALL, LARGE)):
        for name, call in costs.memories(tmp_path, before, size).items():
            call()
            counted[name, size] = steps(call)
    growth = LARGE / SMALL
    for name in {name for name, _ in counted}:
        small, large = counted[name, SMALL], counted[name, LARGE]
        assert large <= (1.5 if name in INDEPENDENT else growth) * small, (name, small, large)


@pytest.mark.slow
def test_plans_receipts_and_events_that_are_kept_slow_no_deletion(
    tmp_path: Path, steps: Callable[[Callable[[], object]], int]
) -> None:
    memory = open_memory("default", home=tmp_path)
    forget = costs.memory_calls(memory, 1)["add and delete"]
    forget()
    first = steps(forget)
    for _ in range(400):
        forget()
    assert steps(forget) <= 1.2 * first


def test_a_run_whose_memory_or_time_grows_is_noticed() -> None:
    assert long_runs.grown([(100 + 20 * part, 4.0) for part in range(10)])
    assert long_runs.grown([(100, 4.0 + part) for part in range(10)])
    assert long_runs.grown([(100 + part, 4.0) for part in range(10)]) == []


def test_a_call_above_linear_is_named() -> None:
    said = [costs.Cost("memories", "search", size, size**2 / 1000, 1) for size in (100, 200, 400)]
    assert costs.fits(said)["memories", "search"][0] == pytest.approx(2)
    assert "above linear" in costs.table(said)[2]
