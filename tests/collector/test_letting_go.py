"""Purged receipts with their plans, and events but for sums, are let go after `gc.history_days`, in small steps."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.collector import collect
from memsweep.errors import NotFound
from memsweep.model.audit import events_in
from tests.collector.stores import NOW
from tests.support.engines import on_every_engine

Make = Callable[..., App]


def delete_and_purge(app: App, count: int) -> list[str]:
    memory = app.memory()
    kept = [memory.delete(memory.remember(f"note {n}").memory_id, confirm=True).id for n in range(count)]
    memory.sweep.purge(0, confirm=True)
    return kept


def at(app: App, days: float) -> None:
    app.clock = lambda: NOW + timedelta(days=days)


@on_every_engine
def test_what_was_purged_long_ago_is_let_go_in_small_steps(
    make: Make, engine_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "_LET_GO", 2)
    app = make()
    at(app, 0)
    memory, sweep = app.memory(), app.memory().sweep
    plans = [sweep.receipt(each).plan_id for each in delete_and_purge(app, 5)]
    assert all(sweep.get_plan(str(plan)) for plan in plans)
    at(app, 89)
    sweep.plan("expired")
    assert len(sweep.receipts(limit=50).receipts) == 5
    at(app, 91)
    for left in (3, 1, 0):
        sweep.plan("expired")
        assert len(sweep.receipts(limit=50).receipts) == left
    for plan in plans:
        with pytest.raises(NotFound):
            sweep.get_plan(str(plan))
    for _ in range(20):
        sweep.plan("expired")
    counts = {event.action: event.counts for event in sweep.audit(limit=100)}
    assert {action: said["let_go"] for action, said in counts.items()} == {"add": 5, "delete": 5, "purge": 5}
    assert counts["add"]["memories"] == 5
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_of_events_that_are_let_go_one_line_a_day_and_action_keeps_the_sums(
    make: Make, engine_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "_LET_GO", 2)
    app = make()
    memory, sweep = app.memory(), app.memory().sweep
    for hours in (0, 1, 3, 24):
        app.clock = lambda hours=hours: NOW + timedelta(hours=hours)
        memory.remember(f"note of hour {hours}", entities=["Ada", f"Ida {hours}"])
    many = memory.remember("many names", entities=[f"Name {number}" for number in range(300)]).memory_id
    events = len(sweep.audit(limit=100))
    app.clock = lambda: NOW + timedelta(days=120)
    for _ in range(8):
        sweep.plan("expired")
        assert sum(events_in(event.counts) for event in sweep.audit(limit=100)) == events
    heads = [event for event in sweep.audit(limit=100) if "let_go" in event.counts]
    assert [(each.action, each.actor, each.subject, each.ids) for each in heads] == [("add", "library", "", ())] * 2
    assert [each.at for each in heads] == [NOW + timedelta(hours=24), NOW]
    counts = [(each.counts["let_go"], each.counts["memories"], each.counts["entities"]) for each in heads]
    assert counts == [(2, 2, 301), (3, 3, 4)]
    at, until = NOW, NOW + timedelta(hours=3)
    assert heads[1].counts["until"] == until.isoformat(timespec="microseconds")
    said = f"3 events of this day, from {at:%H:%M:%S} to {until:%H:%M:%S} UTC, let go since; the counts are added up"
    assert heads[1].reason == said
    assert [each.ids for each in sweep.audit(subject=many)] == []
    assert [each.counts["let_go"] for each in sweep.audit_page(action="add", until=NOW).events] == [3]
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_what_a_clock_that_went_back_added_to_a_day_is_added_to_its_line(make: Make, engine_kind: str) -> None:
    app = make()
    at(app, 100)
    sweep = app.memory().sweep
    app.memory().remember("early")
    at(app, 200)
    sweep.plan("expired")
    at(app, 100.01)
    app.memory().remember("late")
    at(app, 200.1)
    sweep.plan("expired")
    assert len([each for each in sweep.audit() if each.action == "add"]) == 2
    at(app, 201)
    sweep.plan("expired")
    (head,) = [each for each in sweep.audit() if each.action == "add"]
    assert (head.at, head.counts["let_go"]) == (NOW + timedelta(days=100), 2)


@on_every_engine
def test_what_can_be_undone_stays_whatever_its_age(make: Make, engine_kind: str) -> None:
    app = make()
    at(app, 0)
    memory = app.memory()
    note = memory.remember("Ada was here", entities=["Ada", "Ida"]).memory_id
    receipt = memory.delete(note, confirm=True).id
    at(app, 4000)
    memory.sweep.plan("expired")
    memory.sweep.undo(receipt)
    assert memory.get(note)


@on_every_engine
def test_backups_are_told_of_for_ever_and_merges_are_read_by_later_ones(
    make: Make, engine_kind: str, tmp_path: Path
) -> None:
    app = make()
    at(app, 0)
    memory = app.memory()
    memory.remember("Ada met Ida", entities=["Ada", "Ida"])
    memory.care.backup(tmp_path / "kept.db")
    names = {each.name: each.id for each in memory.graph.names("").entities}
    memory.graph.merge([names["Ida"]], into=names["Ada"])
    memory.sweep.purge(0, confirm=True)
    at(app, 4000)
    memory.sweep.plan("expired")
    assert [each.action for each in memory.sweep.receipts().receipts] == ["merge"]
    assert "backup" in {event.action for event in memory.sweep.audit(limit=50)}


@on_every_engine
def test_nothing_is_let_go_where_the_setting_says_so(make: Make, engine_kind: str) -> None:
    app = make(MEMSWEEP_GC_HISTORY_DAYS="0")
    at(app, 0)
    delete_and_purge(app, 2)
    before = len(app.memory().sweep.audit(limit=100))
    at(app, 4000)
    app.memory().sweep.plan("expired")
    assert len(app.memory().sweep.receipts().receipts) == 2
    assert len(app.memory().sweep.audit(limit=100)) == before
