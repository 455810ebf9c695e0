"""Whatever the collector does, FalkorDB and SQLite give the same answers and hold the same afterwards."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.gc import collect
from tests.falkor.twins import Side, Twins, twins
from tests.gc.plots import plots
from tests.gc.stores import NOW, Plot
from tests.support import falkor

pytestmark = pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12")
TIMES = int(os.environ.get("MEMSWEEP_SOAK", "1"))
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

    def _note(self, told: Any) -> None:
        if hasattr(told, "skipped"):
            self.receipts.append(told.id)


def _unordered(undone: Any) -> Any:
    return undone.totals, sorted(undone.conflicts)


ACTS = ("plan", "apply", "prune", "undo", "recover", "delete", "delete forever", "pin", "purge", "look")
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
