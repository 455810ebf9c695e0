"""When the clock is wrong: ahead for a while and corrected, or set back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from memsweep.app import App, Memory
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.errors import Conflict
from memsweep.model.graph import Edge
from memsweep.model.plan import Plan, Totals, why_unusable
from memsweep.model.times import days_ago, held, holds
from tests.support.engines import on_every_engine

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
pytestmark = on_every_engine


class Clock:
    """The clock of the library, to be set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock(app: App) -> Clock:
    clock = Clock()
    app.clock = clock
    return clock


# plans


def plan_at(moment: datetime) -> Plan:
    return Plan("plan_1", "expired", moment, moment + HOUR, "", Totals(), 0, (), (), 0.0, 0)


@pytest.mark.parametrize(
    ("made", "receipt", "words"),
    [
        (NOW, None, ""),
        (NOW - HOUR, None, ""),
        (NOW - HOUR - timedelta(seconds=1), None, "expired at"),
        (NOW + timedelta(minutes=4), None, ""),
        (NOW + timedelta(minutes=6), None, "when the clock was ahead"),
        (NOW + 400 * DAY, None, "when the clock was ahead"),
        (NOW, "rcpt_1", "applied already"),
    ],
)
def test_a_plan_is_usable_from_when_it_was_made_for_an_hour(
    engine_kind: str, made: datetime, receipt: str | None, words: str
) -> None:
    why = why_unusable(plan_at(made), receipt, NOW)
    assert words in why
    assert bool(why) is bool(words)


def test_a_plan_made_while_the_clock_was_ahead_does_not_apply_after_the_correction(
    memory: Memory, clock: Clock
) -> None:
    """What it found too old was seen today."""
    memory.remember("seen today")
    clock.now = NOW + 400 * DAY
    plan = memory.sweep.plan("expired", ttl_days=30)
    assert plan.item_count == 1
    clock.now = NOW + HOUR
    with pytest.raises(Conflict, match="was made at 2027-04-05T12:00:00Z, when the clock was ahead"):
        memory.sweep.apply(plan.id, confirm=True)
    assert memory.stats().total_memories == 1
    assert memory.sweep.plan("expired", ttl_days=30).item_count == 0


def test_a_plan_of_a_clock_that_is_a_little_ahead_applies(memory: Memory, clock: Clock) -> None:
    memory.remember("old", expires_at=NOW - DAY)
    clock.now = NOW + timedelta(minutes=2)
    plan = memory.sweep.plan("expired")
    clock.now = NOW
    assert memory.sweep.apply(plan.id, confirm=True).totals.memories == 1


def test_a_merge_and_a_context_plan_of_a_clock_that_was_ahead_do_not_apply(memory: Memory, clock: Clock) -> None:
    memory.remember("x", entities=["Ada", "Ada Lovelace"])
    window = memory.context()
    window.add([{"segment_id": f"s{n}", "text": f"a long message {n} " * 50} for n in range(30)])
    clock.now = NOW + 10 * DAY
    merge = memory.graph.plan_merge(["Ada Lovelace"], "Ada").plan_id
    sweep = window.analyze(target_tokens=1000)
    clock.now = NOW
    with pytest.raises(Conflict, match="when the clock was ahead"):
        memory.graph.merge(plan_id=merge)
    with pytest.raises(Conflict, match="when the clock was ahead"):
        window.prune(plan_id=sweep.plan_id)


# what grows old


def test_what_a_clock_dated_ahead_is_not_expired_and_grows_old_from_its_date_on(memory: Memory, clock: Clock) -> None:
    clock.now = NOW + 100 * DAY
    memory.remember("dated ahead")
    clock.now = NOW
    assert memory.sweep.plan("expired", ttl_days=30).item_count == 0
    clock.now = NOW + 129 * DAY
    assert memory.sweep.plan("expired", ttl_days=30).item_count == 0
    clock.now = NOW + 131 * DAY
    assert memory.sweep.plan("expired", ttl_days=30).item_count == 1


def test_what_has_a_date_of_its_own_is_expired_by_the_clock_as_it_is(memory: Memory, clock: Clock) -> None:
    memory.remember("until tomorrow", expires_at=NOW + DAY)
    clock.now = NOW + 2 * DAY
    assert memory.sweep.plan("expired").item_count == 1
    clock.now = NOW
    assert memory.sweep.plan("expired").item_count == 0


def weight_of(memory: Memory) -> float:
    (edge,) = memory.graph.related("Ada").walk.edges
    return edge.weight


def test_what_a_clock_dated_ahead_counts_in_full_and_fades_from_its_date_on(memory: Memory, clock: Clock) -> None:
    clock.now = NOW + 100 * DAY
    memory.graph.relate("Ada", "knows", "Grace", weight=0.8)
    ahead = weight_of(memory)
    clock.now = NOW
    assert weight_of(memory) == ahead == 0.8
    clock.now = NOW + 200 * DAY
    assert weight_of(memory) == pytest.approx(0.8 * 0.997**100)


def test_a_fact_that_a_clock_dated_ahead_holds_after_the_correction(memory: Memory, clock: Clock) -> None:
    clock.now = NOW + 100 * DAY
    memory.graph.relate("Ada", "knows", "Grace")
    clock.now = NOW
    memory.graph.relate("Ada", "leads", "Apollo", valid_at=NOW + 50 * DAY)
    assert [edge.relation for edge in memory.graph.related("Ada").walk.edges] == ["knows"], (
        "the other begins in fifty days"
    )


@pytest.mark.parametrize(
    ("valid_days", "seen_days", "expected"),
    [(None, 5, True), (-3, -1, True), (20, 20, True), (20, 30, True), (20, 5, False), (20, -5, False), (0, 0, True)],
)
def test_a_fact_has_begun_if_it_was_seen_since_by_whatever_clock(
    engine_kind: str, valid_days: int | None, seen_days: int, expected: bool
) -> None:
    valid_at = None if valid_days is None else NOW + valid_days * DAY
    edge = Edge("rel_1", 1, 2, "knows", 1.0, NOW + seen_days * DAY, valid_at, None)
    assert holds(edge, NOW) is expected
    assert held(edge, NOW - 10 * DAY) is (valid_at is None), "what held then is a question of dates alone"


def test_what_is_dated_ahead_is_young(memory: Memory, clock: Clock) -> None:
    clock.now = NOW + 100 * DAY
    memory.remember("dated ahead", expires_at=NOW - DAY)
    clock.now = NOW
    assert "1 nodes are less than 24h old" in memory.sweep.plan("expired").warnings


# the trash


def test_trash_that_was_dated_ahead_is_kept_by_its_date_and_freed_when_all_is_asked_for(
    memory: Memory, clock: Clock
) -> None:
    memory.remember("first")
    clock.now = NOW + 100 * DAY
    memory.sweep.clear(CLEAR_PHRASE)
    clock.now = NOW
    assert memory.sweep.purge(30, confirm=True).memories == 0
    assert memory.sweep.purge(0, confirm=True).memories == 1


def test_deleted_workspaces_that_were_dated_ahead_are_freed_when_all_is_asked_for(app: App, clock: Clock) -> None:
    app.memory("other").remember("x")
    clock.now = NOW + 100 * DAY
    app.delete_workspace("other", confirm=True)
    clock.now = NOW
    assert app.purge_workspaces(30) == 0
    assert app.purge_workspaces(0) == 1


@pytest.mark.parametrize(("days", "expected"), [(30, NOW - 30 * DAY), (0.5, NOW - DAY / 2)])
def test_so_many_days_ago_is_a_moment(engine_kind: str, days: float, expected: datetime) -> None:
    assert days_ago(NOW, days) == expected
    assert days_ago(NOW, 0) > NOW + 10_000 * DAY


def test_undo_does_not_ask_for_the_time(memory: Memory, clock: Clock) -> None:
    memory.remember("first")
    clock.now = NOW + 100 * DAY
    receipt = memory.sweep.clear(CLEAR_PHRASE)
    clock.now = NOW - 100 * DAY
    assert memory.sweep.undo(receipt.id).totals.memories == 1


# context windows


def test_a_window_that_was_filled_ahead_of_time_is_swept_as_if_it_were_new(
    make: Callable[..., App], clock: Clock
) -> None:
    memory = make().memory()
    window = memory.context()
    clock.now = NOW + 100 * DAY
    window.add([{"segment_id": f"s{n}", "text": f"decision {n} " * 60, "type": "decision"} for n in range(20)])
    clock.now = NOW
    window.add([{"segment_id": f"t{n}", "text": f"message {n} " * 60} for n in range(20)])
    made = window.analyze(target_tokens=2000)
    assert made.plan_id
    assert window.prune(plan_id=made.plan_id).change.tokens_after < made.change.tokens_before
