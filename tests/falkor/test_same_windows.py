"""Whatever is done to context windows, FalkorDB and SQLite give the same answers and hold the same afterwards."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.collector import collect
from memsweep.collector import purge as purging
from memsweep.context.counting import window_dependencies
from memsweep.context.service import ContextWindow
from memsweep.model.plan import Operation
from memsweep.model.segment import ContextSegment
from memsweep.operation import Calls
from memsweep.settings import load_settings
from memsweep.store.falkor import reading
from tests.collector.stores import NOW, StoreSpec
from tests.falkor.both_engines import BothEngines, Side, both_engines
from tests.support.counts import rounds

TYPES = ("message", "message", "code", "log", "note")
SMALL = {"soft_tokens": 60, "hard_tokens": 140, "changes_per_step": 3, "batch": 2, "last_n": 2}


class Acting:
    """A run of acts on the windows of both sides."""

    def __init__(self, pair: BothEngines) -> None:
        self._pair, self._hours, self._made = pair, 0, 0
        self._receipts: list[str] = []
        self._plans: list[str] = []
        self._both("one", lambda window: window.configure(**SMALL))

    def act(self, name: str, number: int, window: str) -> None:
        self._hours += 1
        getattr(self, name.replace(" ", "_"))(number, window)

    def add(self, number: int, window: str) -> None:
        new = [self._segment(number + each) for each in range(1 + number % 4)]
        self._both(window, lambda each: each.add(new))

    def add_many(self, number: int, window: str) -> None:
        new = [self._segment(number + each) for each in range(30)]
        self._both(window, lambda each: each.add(new))

    def prune(self, number: int, window: str) -> None:
        ids, confirm = self._ids(number), number % 2 == 0
        strategy = ("auto", "stash", "delete")[number % 3]
        self._both(window, lambda each: each.prune(ids, strategy=strategy, confirm=confirm))

    def prune_as_planned(self, number: int, window: str) -> None:
        seen = self._both(window, lambda each: each.analyze(target_tokens=number))
        if plan_id := getattr(seen, "plan_id", None):
            self._plans.append(plan_id)
            self._both(window, lambda each: each.prune(plan_id=plan_id, confirm=True))

    def plan(self, number: int, window: str) -> None:
        seen = self._both(window, lambda each: each.analyze(target_tokens=number))
        self._plans += [plan_id] if (plan_id := getattr(seen, "plan_id", None)) else []

    def prune_by_a_plan(self, number: int, window: str) -> None:
        """Which may have been used, or be too old, or be another window's."""
        if self._plans:
            plan_id = self._plans[number % len(self._plans)]
            self._both(window, lambda each: each.prune(plan_id=plan_id, confirm=bool(number % 2)))

    def restore(self, number: int, window: str) -> None:
        self._both(window, lambda each: each.restore(self._ids(number)))

    def pin(self, number: int, window: str) -> None:
        self._both(window, lambda each: each.pin(self._ids(number), bool(number % 3)))

    def compress(self, number: int, window: str) -> None:
        self._both(window, lambda each: each.compress(self._ids(number), "in short"))

    def delete(self, number: int, window: str) -> None:
        self._both(window, lambda each: each.delete(confirm=True))

    def look(self, number: int, window: str) -> None:
        self._both(window, lambda each: each.segments(stashed=bool(number % 2)))
        self._both(window, lambda each: each.working_set())

    def undo(self, number: int, window: str) -> None:
        if self._receipts:
            receipt = self._receipts[number % len(self._receipts)]
            self._pair.both(lambda side: _unordered(collect.undo(self._collecting(side), receipt)))

    def clear(self, number: int, window: str) -> None:
        shown = self._pair.both(lambda side: collect.clear(self._collecting(side), "DELETE ALL MEMORIES"))
        self._receipts.append(shown.id)

    def purge(self, number: int, window: str) -> None:
        before = NOW + timedelta(hours=self._hours - number % 4)
        doing = Operation("tester", self._now)
        self._pair.both(lambda side: purging.purge(side.store.collector, before, doing))

    @property
    def _now(self) -> Any:
        return NOW + timedelta(hours=self._hours)

    def _collecting(self, side: Side) -> Any:
        return side.tools(self._now)

    def _segment(self, number: int) -> ContextSegment:
        self._made += 1
        references = tuple(f"s{each % self._made}" for each in range(number % 3))
        made = ContextSegment(f"s{self._made}", f"text {number}", TYPES[number % 5], self._now, self._now)  # type: ignore[arg-type]
        return replace(made, tokens=number % 13, references=references, pinned=number % 11 == 0)

    def _ids(self, number: int) -> list[str]:
        return [f"s{each}" for each in range(number, number + 1 + number % 3)]

    def _both(self, name: str, act: Any) -> Any:
        shown = self._pair.both(lambda side: act(self._window(side, name)))
        if receipt := getattr(shown, "receipt_id", None):
            self._receipts.append(receipt)
        return shown

    def _window(self, side: Side, name: str) -> ContextWindow:
        chosen = load_settings({})
        tools = window_dependencies(chosen, lambda create: side.store.windows, "tester", lambda: self._now, side.new_id)
        return ContextWindow(tools, name, Calls(False, lambda: None))


def _unordered(undone: Any) -> Any:
    return undone.totals, sorted(undone.conflicts)


def findable(pair: BothEngines) -> None:
    """Every segment of the graph has the names by which it is found, and none waits before the turn that is next."""
    graph = pair.falkor.store._graph  # type: ignore[attr-defined]
    projects = {node["key"]: node for (node,) in graph.ask("MATCH (p:Project) RETURN properties(p)")}
    live, trashed = (
        [node for (node,) in graph.ask(f"MATCH (s:{label}) RETURN properties(s)")]
        for label in ("Segment", "TrashedSegment")
    )
    wanted: list[reading.Row] = []
    for node in (*live, *trashed):
        row, links = reading.segment_rows(node)
        names = reading.to_node("segment", row)
        assert {name: node.get(name) for name in names} == names
        wanted += [reading.to_node("segment_link", link) for link in links]
    for node in live:
        if "stash" not in node:
            assert node["turn"] >= projects[node["project"]][f"next_{node['generation']}"]
    stored = graph.ask("MATCH (l:SegmentLink) RETURN l.target, l.source")
    assert sorted(map(tuple, stored)) == sorted((link["target"], link["source"]) for link in wanted)


ACTS = ("add", "add", "add many", "prune", "prune as planned", "restore", "pin", "compress", "delete", "look", "undo",
        "undo", "clear", "purge", "plan", "prune by a plan")  # fmt: skip
acts = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 40), st.sampled_from(("one", "one", "two"))),
    min_size=3,
    max_size=14,
)


@given(acts)
@settings(max_examples=rounds(6, 25))
def test_any_run_of_acts_on_windows_gives_the_same_on_falkor(acts: list[tuple[str, int, str]]) -> None:
    with both_engines(StoreSpec()) as pair:
        acting = Acting(pair)
        for name, number, window in acts:
            acting.act(name, number, window)
            pair.same_by_id()
            findable(pair)
