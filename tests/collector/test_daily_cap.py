"""Half of a workspace in a day: counted over all calls and doors, from the receipts of the last 24 hours."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from memsweep.app import App
from memsweep.collector.planner import over_cap
from memsweep.errors import Conflict
from memsweep.model.plan import Totals
from memsweep.schedule.background import Background
from tests.collector.stores import NOW
from tests.support.engines import on_every_engine

Make = Callable[..., App]


@pytest.fixture
def app(make: Make) -> App:
    made = make(
        MEMSWEEP_SCHEDULE_ENABLED="true", MEMSWEEP_SCHEDULE_STRATEGIES="expired", MEMSWEEP_SCHEDULE_PURGE_DAYS="0"
    )
    made.clock = lambda: NOW
    for number in range(40):
        made.memory().remember(f"expired {number}", expires_at=NOW - timedelta(days=1))
    return made


def take(app: App, count: int, **how: bool) -> str:
    """The receipt of so many, the rest excluded."""
    sweep = app.memory().sweep
    plan = sweep.plan("expired")
    items = [item.id for item in sweep.items(plan.id, limit=100)]
    return sweep.apply(plan.id, confirm=True, exclude=items[count:], **how).id


def left(app: App) -> int:
    return app.memory().stats().total_memories


@on_every_engine
def test_many_small_prunes_take_no_more_than_one_large(app: App, engine_kind: str) -> None:
    for _ in range(4):
        take(app, 5)
    refusal = (
        r"this would remove 5 of 20 memories \(62% of the workspace with 20 that went in the last 24 hours,"
        r" more than 50%; 0 more may go\); nothing was removed"
    )
    for _ in range(4):
        with pytest.raises(Conflict, match=refusal):
            take(app, 5)
    with pytest.raises(Conflict, match="with 20 that went"):
        app.memory().sweep.prune("expired", confirm=True)
    assert "of 20 memories" in app.memory().sweep.over_cap(app.memory().sweep.plan("expired").id)
    done = Background(app, lambda: NOW).run()
    assert done is not None
    assert "20 of 20 memories (100% of the workspace with 20 that went" in done["outcomes"][0]["stopped"]
    assert left(app) == 20
    take(app, 5, allow_large=True)
    assert left(app) == 15


@on_every_engine
def test_what_came_back_or_went_the_day_before_does_not_count(app: App, engine_kind: str) -> None:
    first, second = take(app, 10), take(app, 10)
    app.undo(first)
    take(app, 10)
    app.memory().sweep.recover(app.memory().sweep.trash(receipt_id=second)[0][0].id)
    take(app, 1)
    with pytest.raises(Conflict, match="20 that went"):
        take(app, 1)
    app.clock = lambda: NOW + timedelta(days=1, seconds=1)
    take(app, 10)
    assert left(app) == 10


@on_every_engine
def test_what_was_deleted_or_purged_counts(app: App, engine_kind: str) -> None:
    sweep = app.memory().sweep
    for item in sweep.items(sweep.plan("expired").id, limit=10):
        app.memory().delete(item.id, confirm=True)
    take(app, 10)
    sweep.purge(0, confirm=True)
    with pytest.raises(Conflict, match="20 that went in the last 24 hours"):
        take(app, 1)


@on_every_engine
def test_a_background_run_takes_what_is_left_of_the_day(app: App, engine_kind: str) -> None:
    for number in range(40):
        app.memory().remember(f"kept {number}")
    take(app, 1)
    done = Background(app, lambda: NOW).run()
    assert done is not None
    assert (done["outcomes"][0]["deleted_memories"], done["outcomes"][0]["stopped"]) == (39, "")
    app.memory().remember("one more", expires_at=NOW - timedelta(days=1))
    with pytest.raises(Conflict, match=r"1 of 41 memories .* 0 more may go"):
        app.memory().sweep.prune("expired", confirm=True)


def test_nothing_is_always_allowed() -> None:
    assert over_cap(Totals(), {"memory": 10}, ("memory",), Totals(memories=100)) == ""
