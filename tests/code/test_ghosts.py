"""What no file states any more is not in the graph, and what one states is, whatever was trashed and undone between."""

from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App
from memsweep.services.memory import Memory
from tests.faults import ghosts
from tests.support import contents, store_files
from tests.support.engines import on_every_engine
from tests.support.inside import store_of

pytestmark = on_every_engine
CALLS_BETA = "def alpha(x):\n    return beta(x)\n"
CALLS_DELTA = "def alpha(x):\n    return delta(x)\n"
BETA = ("alpha", "calls", "beta")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "kept.py").write_text("import os\n")
    return folder


def facts(memory: Memory) -> set[tuple[str, str, str]]:
    return {(subject, kind, target) for subject, _, kind, target, _ in ghosts.live(memory)["relations"]}


def index(memory: Memory, root: Path, **files: str) -> None:
    """Write these files (an empty text removes one) and index the folder."""
    for name, text in files.items():
        if text:
            (root / f"{name}.py").write_text(text)
        else:
            (root / f"{name}.py").unlink()
    memory.code.index(root)


def prune(memory: Memory) -> str:
    return memory.sweep.prune("all", confirm=True, allow_large=True).id


def held_by(memory: Memory, receipt: str) -> list[Any]:
    rows = store_files.rows_of(memory)
    (key,) = (row["id"] for row in rows["receipt"] if row["uid"] == receipt)
    return [row["relation"] for row in rows["relation"] if row["trash"] == key]


@pytest.mark.parametrize("into", ["alpha", "delta"])
def test_a_run_while_names_are_one_is_right_up_to_the_merge_and_the_next_one_after_it(
    app: App, root: Path, into: str
) -> None:
    memory, fresh = app.memory(), app.memory("fresh")
    index(memory, root, a=CALLS_BETA, b="def beta(x):\n    return delta(x)\n", c="def delta(x):\n    return x\n")
    merged = memory.graph.merge(["beta"], into).receipt_id
    index(
        memory,
        root,
        a=CALLS_BETA + "\n\ndef gamma(x):\n    return beta(x)\n",
        b="def beta(x):\n    return delta(x) + 1\n",
    )
    fresh.code.index(root)
    again = fresh.graph.merge(["beta"], into).receipt_id
    assert ghosts.live(memory) == ghosts.live(fresh)
    undone = memory.sweep.undo(str(merged))
    fresh.sweep.undo(str(again))
    assert {why for _, why in undone.conflicts} == {
        "it was indexed since the merge; the next run of the index reads it again"
    }
    memory.code.index(root)
    assert ghosts.live(memory) == ghosts.live(fresh)
    assert memory.care.doctor().findings == ()


def test_what_only_trash_states_goes_to_the_trash_of_those_that_do(memory: Memory, root: Path) -> None:
    index(memory, root, a=CALLS_BETA, b=CALLS_BETA)
    index(memory, root, a="")
    receipt = prune(memory)
    assert BETA in facts(memory)
    assert held_by(memory, receipt).count("CALLS") == 0
    index(memory, root, b=CALLS_DELTA)
    assert BETA not in facts(memory)
    assert held_by(memory, receipt).count("CALLS") == 1
    assert memory.care.doctor().findings == ()
    memory.sweep.undo(receipt)
    assert BETA in facts(memory), "the file that states it is back"
    assert memory.care.doctor().findings == ()


def test_it_is_freed_with_them(memory: Memory, root: Path) -> None:
    index(memory, root, a=CALLS_BETA, b=CALLS_BETA)
    index(memory, root, a="")
    prune(memory)
    index(memory, root, b=CALLS_DELTA)
    assert memory.sweep.purge(0, confirm=True).relations >= 1
    prune(memory)
    assert "beta" not in contents.names(memory)
    assert memory.care.doctor().findings == ()


def test_of_two_receipts_the_last_one_has_it(memory: Memory, root: Path) -> None:
    index(memory, root, a=CALLS_BETA, b=CALLS_BETA, c=CALLS_BETA)
    index(memory, root, a="")
    first = prune(memory)
    index(memory, root, c="")
    second = prune(memory)
    index(memory, root, b=CALLS_DELTA)
    assert (held_by(memory, first).count("CALLS"), held_by(memory, second).count("CALLS")) == (0, 1)
    memory.sweep.undo(first)
    assert BETA in facts(memory)
    memory.sweep.undo(second)
    assert BETA in facts(memory)
    assert memory.care.doctor().findings == ()


def test_a_file_that_came_back_states_what_another_states_by_now(memory: Memory, root: Path) -> None:
    """The fact was made anew while the file was in the trash: both state the one that lives."""
    index(memory, root, a=CALLS_BETA)
    index(memory, root, a="")
    receipt = prune(memory)
    index(memory, root, b=CALLS_BETA)
    memory.sweep.undo(receipt)
    index(memory, root, a=CALLS_BETA)
    index(memory, root, b=CALLS_DELTA)
    assert BETA in facts(memory)
    index(memory, root, a="")
    prune(memory)
    assert BETA not in facts(memory)
    assert memory.care.doctor().findings == ()


def test_a_recovered_file_states_what_another_states_by_now(memory: Memory, root: Path) -> None:
    index(memory, root, a=CALLS_BETA)
    index(memory, root, a="")
    prune(memory)
    index(memory, root, b=CALLS_BETA)
    trash, _ = memory.sweep.trash()
    memory.sweep.recover(next(item.id for item in trash if item.kind == "memory"))
    index(memory, root, a=CALLS_BETA, b=CALLS_DELTA)
    assert BETA in facts(memory)
    assert memory.care.doctor().findings == ()


def test_a_fact_that_somebody_stated_outlives_the_files(memory: Memory, root: Path) -> None:
    index(memory, root, a=CALLS_BETA, b=CALLS_BETA)
    memory.graph.relate("alpha", "CALLS", "beta", from_type="Function", to_type="Symbol")
    index(memory, root, a="")
    prune(memory)
    index(memory, root, b=CALLS_DELTA)
    assert BETA in facts(memory)


def _forget_the_fate(memory: Memory, receipt: str) -> None:
    """As version 1 left it: live, though only what the receipt holds states it."""
    assert held_by(memory, receipt).count("CALLS") == 1
    engine = store_of(memory)
    with engine.collector.changing() as tx:
        found = [each for each in tx.relations.trashed_by([tx.receipts.get(receipt).key]) if each.kind == "calls"]
        tx.relations.restore([each.key for each in found])


@pytest.mark.slow
def test_the_doctor_puts_what_only_trash_states_where_it_belongs(memory: Memory, root: Path) -> None:
    index(memory, root, a=CALLS_BETA, b=CALLS_BETA)
    index(memory, root, a="")
    receipt = prune(memory)
    index(memory, root, b=CALLS_DELTA)
    _forget_the_fate(memory, receipt)
    assert BETA in facts(memory)
    assert [each.invariant for each in memory.care.doctor().findings] == ["relation_only_in_trash"]
    assert memory.care.doctor(repair=True).left == ()
    assert BETA not in facts(memory)
    assert held_by(memory, receipt).count("CALLS") == 1
    memory.sweep.undo(receipt)
    assert BETA in facts(memory)
    assert memory.care.doctor().findings == ()


def test_the_doctor_removes_what_a_purge_has_left(memory: Memory, root: Path) -> None:
    index(memory, root, a=CALLS_BETA, b=CALLS_BETA)
    index(memory, root, a="")
    receipt = prune(memory)
    index(memory, root, b=CALLS_DELTA)
    _forget_the_fate(memory, receipt)
    memory.sweep.purge(0, confirm=True)
    assert BETA in facts(memory), "nobody states it any more"
    assert [each.invariant for each in memory.care.doctor().findings] == ["relation_of_nobody"]
    assert memory.care.doctor(repair=True).left == ()
    assert BETA not in facts(memory)
    prune(memory)
    assert {target for *_, target in facts(memory)} == {"alpha", "delta", "os"}


def test_a_graph_that_was_imported_is_no_finding(memory: Memory, app: App, root: Path) -> None:
    index(memory, root, a=CALLS_BETA)
    other = app.memory("other")
    other.graph.load(memory.graph.dump())
    gone = other.remember("something to purge").memory_id
    other.delete(gone, confirm=True)
    other.sweep.purge(0, confirm=True)
    assert other.care.doctor().findings == ()
