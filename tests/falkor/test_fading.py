"""Facts that fade, on both engines: planned, pruned and brought back alike."""

from dataclasses import replace
from datetime import timedelta

import pytest

from memsweep.app import App
from memsweep.clock import now
from memsweep.collector import collect
from memsweep.collector.collect import CollectorDependencies
from memsweep.services.memory import Memory
from tests.support.engines import on_every_engine
from tests.support.inside import collector_of

pytestmark = on_every_engine


def later(memory: Memory, days: float) -> CollectorDependencies:
    return replace(collector_of(memory), clock=lambda: now() + timedelta(days=days))


def names(memory: Memory) -> set[str]:
    return {entity.name for entity in memory.graph.entities(limit=50)[0]}


def test_faded_facts_go_with_what_they_leave_alone_and_come_back(app: App) -> None:
    memory = app.memory()
    memory.graph.relate("Ada", "MET", "Charles", weight=0.5)
    memory.graph.relate("Ada", "WROTE", "Notes")
    plan = collect.plan(later(memory, 800), "decayed")
    shown = memory.sweep.items(plan.id)
    assert {item.name for item in shown} == {"Ada MET Charles", "Charles"}
    assert (plan.totals.entities, plan.totals.relations) == (1, 1)
    receipt = collect.plan_and_apply(later(memory, 800), "decayed", confirm=True)
    assert (receipt.totals.entities, receipt.totals.relations) == (1, 1)
    assert names(memory) == {"Ada", "Notes"}
    memory.sweep.undo(receipt.id)
    assert names(memory) == {"Ada", "Notes", "Charles"}
    assert len(memory.graph.related("Ada").walk.edges) == 2


@pytest.mark.parametrize("kind", ["confirm", "correct"])
def test_a_fact_that_changes_after_the_plan_is_skipped_with_its_ends(app: App, kind: str) -> None:
    memory = app.memory()
    memory.graph.relate("Ada", "MET", "Charles")
    plan = collect.plan(replace(later(memory, 5000), plan_hours=1e6), "decayed")
    memory.graph.reinforce("Ada", "MET", "Charles", kind=kind)  # type: ignore[arg-type]
    receipt = collect.apply(later(memory, 5000), plan.id, confirm=True)
    assert (receipt.totals.entities, receipt.totals.relations, len(receipt.skipped)) == (0, 0, 3)


def test_what_was_replaced_goes_when_it_is_old(app: App) -> None:
    memory = app.memory()
    memory.graph.relate("Ada", "LIVES_IN", "London")
    memory.graph.relate("Ada", "LIVES_IN", "Paris", replaces=True)
    assert memory.sweep.plan("superseded").item_count == 0
    receipt = memory.sweep.prune("superseded", ttl_days=0, confirm=True)
    assert receipt.totals.relations == 1
    memory.sweep.undo(receipt.id)
    assert memory.sweep.plan("superseded", ttl_days=0).item_count == 1
    assert memory.sweep.explain(memory.graph.related("Ada").start.id)[0].alive
