"""Several processes at once: a collection among writers loses nothing, and one plan or receipt has one user."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App
from tests.collector.stores import broken
from tests.support import contents, store_files
from tests.support.counts import TIMES
from tests.support.fork_server import Child, ForkServer

LONG_AGO = "2020-01-01"


def old_notes(app: App, count: int) -> list[str]:
    """Notes whose time has passed."""
    return [
        app.memory().remember(f"old note {n} about Grace Hopper", expires_at=LONG_AGO).memory_id for n in range(count)
    ]


def let_go(children: list[Child]) -> None:
    """All of them at the same moment, once all are ready."""
    for child in children:
        child.said()
    for child in children:
        child.go()


def outcomes(children: list[Child]) -> Counter[str]:
    results = [outcome for child in children for outcome in child.report()]
    return Counter(outcome.get("error", "done") for outcome in results)


@pytest.mark.soak
def test_writers_lose_nothing_while_others_collect_and_undo(fork_server: ForkServer, home: Path, app: App) -> None:
    old = old_notes(app, 30)
    each = 40 * TIMES
    children = [fork_server.fork("add_many", home, prefix=f"writer {n}", count=each, wait=True) for n in range(3)]
    let_go(children)
    memory, rounds = app.memory(), 0
    while rounds < 5 or any(not child.ended for child in children):
        rounds += 1
        plan = memory.sweep.plan("expired")
        receipt = memory.sweep.apply(plan.id, confirm=True, allow_large=True)
        assert receipt.totals.memories == 30
        assert receipt.skipped == ()
        assert memory.sweep.undo(receipt.id).conflicts == ()
    receipt = memory.sweep.prune("expired", confirm=True, allow_large=True)
    added = [uid for child in children for uid in child.report()]
    assert len(set(added)) == 3 * each
    file = store_files.file_of(home)
    assert set(contents.ids(memory)) == set(added)
    assert {item.id for item in memory.sweep.trash(limit=1000)[0] if item.kind == "memory"} == set(old)
    assert broken(file) == []
    assert store_files.problems(file) == []


@pytest.mark.soak
def test_a_text_that_is_said_again_while_it_is_collected_is_there_afterwards(
    fork_server: ForkServer, home: Path, app: App
) -> None:
    """Said before the apply it is skipped, said after it it is new; either way it is live, once."""
    for round_ in range(4 * TIMES):
        texts = [f"round {round_} text {n} of Ada Lovelace" for n in range(25)]
        for text in texts:
            app.memory().remember(text, expires_at=LONG_AGO)
        plan = app.memory().sweep.plan("expired")
        calls = [["remember", {"text": text, "expires_at": "2999-01-01"}] for text in texts]
        children = [
            fork_server.fork("attempt_when_told", home, first=[], then=calls),
            fork_server.fork("attempt_when_told", home, first=[], then=calls[::-1]),
        ]
        let_go(children)
        receipt = app.memory().sweep.apply(plan.id, confirm=True, allow_large=True)
        assert outcomes(children) == {"done": 50}
        live = Counter(text for text in contents.texts(app.memory()) if text.startswith(f"round {round_} "))
        assert live == Counter(texts)
        assert receipt.totals.memories + len(receipt.skipped) == 25
        assert broken(store_files.file_of(home)) == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["sweep.apply", "undo"])
def test_a_plan_and_a_receipt_have_one_user(fork_server: ForkServer, home: Path, app: App, what: str) -> None:
    old_notes(app, 10)
    memory = app.memory()
    arguments: dict[str, Any]
    if what == "undo":
        arguments = {"receipt_id": memory.sweep.prune("expired", confirm=True).id}
    else:
        arguments = {"plan_id": memory.sweep.plan("expired").id, "confirm": True}
    children = [fork_server.fork("attempt_when_told", home, first=[], then=[[what, arguments]]) for _ in range(4)]
    let_go(children)
    assert outcomes(children) == {"done": 1, "Conflict": 3}
    assert memory.stats().total_memories == (10 if what == "undo" else 0)
    assert broken(store_files.file_of(home)) == []


def test_collectors_at_the_same_time_take_everything_once(fork_server: ForkServer, home: Path, app: App) -> None:
    old = old_notes(app, 12)
    prune = [["sweep.prune", {"strategy": "expired", "confirm": True}]]
    children = [fork_server.fork("attempt_when_told", home, first=[], then=prune * 3) for _ in range(3)]
    let_go(children)
    taken = [outcome["result"]["totals"]["memories"] for child in children for outcome in child.report()]
    assert sorted(taken) == [0] * 8 + [12]
    assert {item.id for item in app.memory().sweep.trash()[0] if item.kind == "memory"} == set(old)


def test_what_one_process_collects_another_no_longer_finds(fork_server: ForkServer, home: Path, app: App) -> None:
    old_notes(app, 5)
    asked = {"query": "old note", "filters": {"include_expired": True}}
    child = fork_server.fork(
        "attempt_when_told", home, first=[["search", asked]], then=[["search", asked], ["stats", {}]]
    )
    assert len(child.said()[0]["result"]["hits"]) == 5
    app.memory().sweep.prune("expired", confirm=True)
    app.memory().sweep.purge(0, confirm=True)
    child.go()
    found, stats = child.report()
    assert found["result"]["hits"] == []
    assert stats["result"]["total_chunks"] == 0
