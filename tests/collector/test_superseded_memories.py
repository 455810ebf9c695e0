"""What was superseded long ago is garbage, as long as it still is superseded."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memsweep.app import App, Memory
from memsweep.model.plan import Found, Survey
from tests.support.engines import ENGINES

LAKE = "The heron stands in the lake."
RIVER = "The heron stands in the river."
SEA = "The heron stands in the sea."


@pytest.fixture(params=ENGINES)
def engine_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def day(app: App) -> Callable[[int], None]:
    """Sets the clock so many days after the beginning."""

    def on(number: int) -> None:
        moment = datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(days=number)
        app.clock = lambda: moment

    on(0)
    return on


def heron(memory: Memory) -> list[str]:
    return sorted(hit.passage.text for hit in memory.search("heron", limit=50).hits)


@pytest.fixture
def chain(memory: Memory, day: Callable[[int], None]) -> list[str]:
    """Three of them: superseded on day 10, on day 20, and never."""
    old = memory.remember(LAKE, entities=["Lake Ohrid"]).memory_id
    day(10)
    middle = memory.remember(RIVER, supersedes=[old]).memory_id
    day(20)
    return [old, middle, memory.remember(SEA, supersedes=[middle]).memory_id]


def planned(memory: Memory, ttl_days: float | None = None) -> list[str]:
    plan = memory.sweep.plan("superseded", ttl_days=ttl_days)
    return [view.id for view in memory.sweep.items(plan.id) if view.kind == "memory"]


def test_what_was_superseded_long_enough_ago_is_found(
    memory: Memory, chain: list[str], day: Callable[[int], None]
) -> None:
    assert planned(memory) == []
    assert planned(memory, ttl_days=5) == chain[:1]
    day(40)
    assert planned(memory) == chain[:1]
    day(50)
    assert sorted(planned(memory)) == sorted(chain[:2])
    day(5)  # the clock was set back: what is dated in the future is young
    assert planned(memory) == []


def test_the_preview_says_since_when_and_by_what(memory: Memory, chain: list[str], day: Callable[[int], None]) -> None:
    day(45)
    plan = memory.sweep.plan("superseded")
    views = {view.id: view for view in memory.sweep.items(plan.id)}
    assert views[chain[0]].reason == "superseded_memory"
    assert views[chain[0]].evidence["superseded_by"] == chain[2]
    assert any(view.name == "Lake Ohrid" for view in views.values())  # only it spoke of that
    verdict, _, _ = memory.sweep.explain(chain[0])
    assert verdict.garbage_for == (("superseded", f"{chain[2]} has superseded it since 2026-03-11T12:00:00Z."),)


def test_collecting_and_undoing_gives_back_what_was_there(
    memory: Memory, chain: list[str], day: Callable[[int], None]
) -> None:
    day(60)
    receipt = memory.sweep.prune("superseded", confirm=True, allow_large=True)
    assert receipt.totals.memories == 2
    assert heron(memory) == [SEA]
    memory.sweep.undo(receipt.id)
    assert heron(memory) == [SEA]
    assert [link.memory_id for link in memory.get(chain[0]).superseded_by] == chain[1:]


def test_what_is_current_again_since_the_plan_is_skipped(
    memory: Memory, chain: list[str], day: Callable[[int], None]
) -> None:
    day(60)
    plan = memory.sweep.plan("superseded")
    memory.delete(chain[2], confirm=True)
    receipt = memory.sweep.apply(plan.id, confirm=True, allow_large=True)
    assert receipt.skipped == ((chain[1], "no longer superseded"),)
    assert heron(memory) == [RIVER]


@pytest.mark.parametrize("first", ["undo the old", "undo the new"])
def test_the_old_and_the_new_come_back_in_any_order(
    memory: Memory, chain: list[str], day: Callable[[int], None], first: str
) -> None:
    day(60)
    old = memory.sweep.prune("superseded", confirm=True, allow_large=True)
    new = memory.delete(chain[2], confirm=True)
    assert heron(memory) == []
    for receipt in (old, new) if first == "undo the old" else (new, old):
        memory.sweep.undo(receipt.id)
        shown = heron(memory)
        assert shown == ([RIVER] if (first, receipt.id) == ("undo the old", old.id) else [SEA])


def test_what_is_left_after_the_old_was_purged_can_go_and_return(
    memory: Memory, chain: list[str], day: Callable[[int], None]
) -> None:
    day(60)
    memory.sweep.prune("superseded", confirm=True, allow_large=True)
    memory.sweep.purge(0, confirm=True)
    gone = memory.delete(chain[2], confirm=True)
    assert heron(memory) == []
    memory.sweep.undo(gone.id)
    assert heron(memory) == [SEA]
    assert memory.get(chain[2]).supersedes == ()
    assert memory.care.doctor().findings == ()


def test_the_new_one_deleted_for_good_leaves_the_old_one_current(memory: Memory, chain: list[str]) -> None:
    memory.delete(chain[2], confirm=True, forever=True)
    assert heron(memory) == [RIVER]
    assert memory.care.doctor().findings == ()


def test_recovering_one_memory_keeps_its_place_in_the_chain(
    memory: Memory, chain: list[str], day: Callable[[int], None]
) -> None:
    day(60)
    memory.sweep.prune("superseded", confirm=True, allow_large=True)
    memory.sweep.recover(chain[0])
    assert heron(memory) == [SEA]
    memory.delete(chain[2], confirm=True)
    assert heron(memory) == [LAKE]


def test_a_backup_and_a_copy_keep_the_chain(app: App, memory: Memory, chain: list[str], tmp_path: Path) -> None:
    memory.delete(chain[1], confirm=True)  # a link to what is in the trash is kept, too
    memory.care.backup(tmp_path / "file.backup")
    app.restore(tmp_path / "file.backup", "again")
    again = app.memory("again")
    assert heron(again) == [SEA]
    assert [link.memory_id for link in again.get(chain[0]).superseded_by] == [chain[2]]
    assert again.get(chain[0]).superseded_by == memory.get(chain[0]).superseded_by
    again.sweep.recover(chain[1])
    assert [link.memory_id for link in again.get(chain[0]).superseded_by] == chain[1:]
    assert again.care.doctor().findings == ()


def test_links_are_asked_for_by_the_strategies_that_need_them() -> None:
    from memsweep.collector.planner import STRATEGIES
    from memsweep.collector.strategies.rule import Options

    assert {name for name, each in STRATEGIES.items() if "supersessions" in each.needs} == {"duplicates", "superseded"}
    now = datetime(2026, 3, 1, tzinfo=UTC)
    links = [(1, 2, 10), (1, 3, 20), (2, 3, 20)]
    found = list(STRATEGIES["superseded"].find(Survey(supersessions=links), Options(now)))
    assert found == [
        Found("memory", 1, "superseded_memory", {"superseded_by": 3, "superseded_at": 10}),
        Found("memory", 2, "superseded_memory", {"superseded_by": 3, "superseded_at": 20}),
    ]
