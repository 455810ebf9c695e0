"""Crashes, full disks and company: nothing that was acknowledged is lost, and nothing is there by half."""

import random
from pathlib import Path

import pytest

from memsweep.app import App
from tests.context.windows import active, problems, some, stashed
from tests.support import store_files
from tests.support.counts import TIMES, rounds
from tests.support.fork_server import ForkServer

QUICK = {"MEMSWEEP_CONTEXT_ENCODING": "length/4"}
BIG = "All work and no play makes Jack a dull boy. " * 1500


@pytest.mark.soak
def test_a_writer_killed_again_and_again_loses_nothing_it_acknowledged(
    fork_server: ForkServer, home: Path, app: App
) -> None:
    chance = random.Random(6)
    where: dict[str, str] = {}
    texts: dict[str, str] = {}
    kills = rounds(6, 15)
    for round_ in range(kills):
        child = fork_server.fork("sweep_until_killed", home, prefix=f"r{round_}", project="p", settings=QUICK)
        said = [child.said() for _ in range(chance.randrange(1, 25))]
        said += child.kill()
        for own, text, place in said:
            texts[own], where[own] = text, place
        # What it was about to say when it was killed may have happened all the same.
        last = said[-1][0]
        assert problems(home) == []
        window = app.memory().context("p")
        known = {"active": set(active(window)), "stashed": set(stashed(window))}
        where[last] = "active" if last in known["active"] else "stashed"
        for own, place in where.items():
            assert own in known[place], (own, place)
    stored = {segment.segment_id: segment.text for segment in app.memory().context("p").segments(stashed=True)}
    assert texts.items() <= stored.items()
    assert len(stored) <= len(texts) + kills


@pytest.mark.soak
def test_processes_that_share_a_window_lose_nothing(fork_server: ForkServer, home: Path, app: App) -> None:
    each = 40 * TIMES
    children = [
        fork_server.fork("add_segments", home, prefix=f"w{n}", count=each, project="p", settings=QUICK)
        for n in range(4)
    ]
    for child in children:
        assert child.said() == "ready"
    for child in children:
        child.go()
    ids = [own for child in children for own in child.report()]
    assert len(set(ids)) == 4 * each
    window = app.memory().context("p")
    assert sorted(active(window) + stashed(window)) == sorted(ids)
    assert window.state().changes == 4 * each
    assert problems(home) == []


@pytest.mark.slow
def test_two_processes_see_each_other_at_once(app: App, home: Path, fork_server: ForkServer) -> None:
    """Nothing is kept in memory that another process could make wrong."""
    window = app.memory().context("p")
    window.add([some("mine", tokens=10)])
    child = fork_server.fork("add_segments", home, prefix="theirs", count=1, project="p", settings=QUICK)
    assert child.said() == "ready"
    child.go()
    (theirs,) = child.report()
    assert active(window) == ["mine", theirs]
    window.prune(["mine", theirs])
    assert window.state().tokens == 0


def test_a_full_disk_refuses_and_keeps_the_segment_somewhere(fork_server: ForkServer, home: Path, app: App) -> None:
    app.memory().context("p").add([some("kept", "precious", tokens=3)])
    app.close()
    size = store_files.file_of(home).stat().st_size
    outcomes = fork_server.fork(
        "fill_window", home, project="p", text=BIG, count=12, file_size_limit=size + 400_000, settings=QUICK
    ).report()
    added, (put_away, brought_back) = outcomes[:-2], outcomes[-2:]
    refused = [outcome for outcome in added if outcome != "done"]
    assert 0 < len(refused) < 12
    assert all(outcome.startswith("StoreFull") and "nothing was changed" in outcome for outcome in refused)
    window = app.memory().context("p")
    assert problems(home) == []
    assert active(window).count("kept") + stashed(window).count("kept") == 1
    assert ("kept" in active(window)) == (put_away != "done" or brought_back == "done")
    assert len(active(window)) + len(stashed(window)) == 1 + added.count("done")
    window.add([some("again", "there is space again")])
