"""Whatever the collector does, FalkorDB and SQLite give the same answers and hold the same afterwards."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memsweep.collector import collect, review
from memsweep.collector import purge as purging
from memsweep.collector.collect import plan_chosen
from memsweep.collector.history import explain, receipts
from memsweep.collector.strategies.rule import Fading
from memsweep.graph import facts
from memsweep.graph.facts import GraphDependencies
from memsweep.graph.merge import SplitRequest
from memsweep.model.audit import AuditQuery
from memsweep.model.decay import Rates
from memsweep.model.graph import NamedEntities
from memsweep.model.memory import NamedThing
from memsweep.model.plan import Operation, Plan, Receipt
from memsweep.model.strategies import QUICK, WITHOUT_QUESTION
from tests.collector.random_stores import random_stores
from tests.collector.stores import NOW, Link, Note, StoreSpec, Thing
from tests.falkor.both_engines import BothEngines, Side, both_engines
from tests.support.counts import rounds
from tests.support.memory_disk import MEMORY_DISK

# Everything was last seen when the acts began, and they take an hour each.
FADING = Fading(node_threshold=0.9999, edge_threshold=0.5, max_age_days=0.0)
WHOSE = ({"source": "code_indexer"}, {"source": "code_indexer", "since": "2000-01-01"}, {"tier": "person"})


class Acting:
    """A run of acts on both sides; what was made so far can be named by later ones."""

    def __init__(self, both_engines: BothEngines, folder: Path) -> None:
        self.both_engines = both_engines
        self.folder = folder
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
        self._look_at(lambda side: collect.plan(self._tools(side), strategy, 0.0, _fading(strategy)))

    def choose(self, number: int, strategy: str) -> None:
        ids = [f"mem_{1 + each % 7:012}" for each in range(number, number + 1 + number % 3)]
        self._look_at(lambda side: plan_chosen(self._tools(side), ids))

    def retract(self, number: int, strategy: str) -> None:
        whose = WHOSE[number % len(WHOSE)]
        self._look_at(lambda side: collect.plan(self._tools(side), "origin", origin=whose))

    def preview(self, number: int, strategy: str) -> None:
        self.both_engines.both(lambda side: review.previews(self._tools(side), [strategy, *QUICK], 1 + number % 5))

    def _look_at(self, make: Callable[[Side], Plan]) -> None:
        """A plan, its items and its groups, and how it differs from the first one."""
        plan = self.both_engines.both(make)
        if not hasattr(plan, "digest"):
            return
        self.plans.append(plan.id)
        self.both_engines.both(lambda side: collect.load_plan(self._tools(side), plan.id))
        self.both_engines.both(lambda side: collect.plan_items(self._tools(side), plan.id, 0, 100))
        self.both_engines.both(lambda side: review.groups(self._tools(side), plan.id, 0, 100, 100))
        self.both_engines.both(lambda side: review.compare(self._tools(side), self.plans[0], plan.id, 100))

    def apply(self, number: int, strategy: str) -> None:
        if self.plans:
            plan = self.plans[number % len(self.plans)]
            large = bool(number % 3)
            told = self.both_engines.both(
                lambda side: collect.apply(self._tools(side), plan, confirm=True, allow_large=large)
            )
            self._note(told)

    def apply_a_part(self, number: int, strategy: str) -> None:
        if self.plans:
            plan = self.plans[number % len(self.plans)]
            items = self.both_engines.both(lambda side: collect.plan_items(self._tools(side), plan, 0, 100))
            if isinstance(items, str):  # the plan has expired
                return
            spared = [item.id for n, item in enumerate(items) if (n + number) % 3 == 0]
            self._note(
                self.both_engines.both(
                    lambda side: collect.apply(self._tools(side), plan, confirm=True, allow_large=True, exclude=spared)
                )
            )

    def prune(self, number: int, strategy: str) -> None:
        self._note(
            self.both_engines.both(
                lambda side: collect.plan_and_apply(
                    self._tools(side),
                    strategy,
                    confirm=True,
                    allow_large=bool(number % 3),
                    ttl_days=number % 5 * 5.0,
                    fading=_fading(strategy),
                )
            )
        )

    def prune_in_steps(self, number: int, strategy: str) -> None:
        step = 1 + number % 3

        def collect_in_steps(side: Side) -> list[Receipt]:
            tools = self._tools(side)
            outlook = collect.look_ahead(tools, [strategy], 0.0)
            return list(
                collect.prune_in_steps(tools, [strategy], step, 0.0, outlook=outlook, allow_large=bool(number % 2))
            )

        told = self.both_engines.both(collect_in_steps)
        for receipt in told if isinstance(told, list) else ():
            self._note(receipt)

    def files(self, number: int, strategy: str) -> None:
        """A file that was there is gone, or the other way round."""
        path = self.folder / str(number % 2) / "src" / f"m{number // 2 % 6}.py"
        path.unlink() if path.exists() else path.touch()

    def explain(self, number: int, strategy: str) -> None:
        item = f"{'mem' if number % 2 else 'ent'}_{1 + number // 2 % 6:012}"
        self.both_engines.both(lambda side: _without_restore(explain(self._tools(side), item)))

    def check_deletion(self, number: int, strategy: str) -> None:
        ids = [f"mem_{1 + each % 9:012}" for each in range(number, number + 3)]
        self.both_engines.both(lambda side: collect.validate_deletion_safety(self._tools(side), ids))

    def remove_tombstone(self, number: int, strategy: str) -> None:
        self.both_engines.both(lambda side: collect.remove_tombstone(self._tools(side), f"mem_{1 + number % 6:012}"))

    def undo(self, number: int, strategy: str) -> None:
        if self.receipts:
            receipt = self.receipts[number % len(self.receipts)]
            self.both_engines.both(lambda side: _unordered(collect.undo(self._tools(side), receipt)))

    def recover(self, number: int, strategy: str) -> None:
        self.both_engines.both(lambda side: _unordered(collect.recover(self._tools(side), f"mem_{1 + number % 6:012}")))

    def delete(self, number: int, strategy: str) -> None:
        memory = f"mem_{1 + number % 6:012}"
        self._note(self.both_engines.both(lambda side: collect.delete(self._tools(side), memory, confirm=True)))

    def delete_forever(self, number: int, strategy: str) -> None:
        memory = f"mem_{1 + number % 6:012}"
        self.both_engines.both(lambda side: collect.delete(self._tools(side), memory, confirm=True, forever=True))

    def pin(self, number: int, strategy: str) -> None:
        item = f"{'mem' if number % 2 else 'ent'}_{1 + number // 2 % 6:012}"
        self.both_engines.both(lambda side: collect.pin(self._tools(side), item, bool(number % 3)))

    def purge(self, number: int, strategy: str) -> None:
        before = NOW + timedelta(hours=self.hours - number % 4)
        now = NOW + timedelta(hours=self.hours)
        doing = Operation("tester", now)
        self.both_engines.both(lambda side: purging.purge(side.store.collector, before, doing))

    def look(self, number: int, strategy: str) -> None:
        self.both_engines.both(lambda side: side.store.collector.trashed(number % 5 + 1, number % 3))
        now = NOW + timedelta(hours=self.hours)
        self.both_engines.both(
            lambda side: [receipts(side.store.collector, now, 99, None, holding=each) for each in (False, True)]
        )
        if self.receipts:
            receipt = self.receipts[number % len(self.receipts)]
            self.both_engines.both(lambda side: side.store.collector.trashed(9, 0, receipt))
        self.both_engines.both(
            lambda side: [
                event for _, event in side.store.collector.audit(99, AuditQuery()) if event.action != "restore"
            ]
        )

    def merge(self, number: int, strategy: str) -> None:
        names, into = self._things(number)
        self._note_merge(self.both_engines.both(lambda side: facts.merge(self._graphing(side), names, into, None)))

    def plan_merge(self, number: int, strategy: str) -> None:
        names, into = self._things(number)
        told = self.both_engines.both(
            lambda side: facts.plan_merge(self._graphing(side), names, into, timedelta(hours=1 + number % 3))
        )
        if hasattr(told, "plan_id"):
            self.merges.append(told.plan_id)
            self.plans.append(told.plan_id)

    def merge_as_planned(self, number: int, strategy: str) -> None:
        if self.merges:
            plan = self.merges[number % len(self.merges)]
            self._note_merge(self.both_engines.both(lambda side: facts.merge(self._graphing(side), [], "", plan)))

    def split(self, number: int, strategy: str) -> None:
        entity, name = f"Thing {number % 4}", f"{'Part' if number % 3 else 'Thing'} {number % 5}"
        relations = [f"rel_{1 + each % 14:012}" for each in range(number % 4, number, 9)]
        memories = [f"mem_{1 + number % 6:012}"]
        self.both_engines.align()
        wanted = SplitRequest(entity, NamedThing(name), relations, memories)
        done = self.both_engines.both(lambda side: facts.split(self._graphing(side), wanted))
        self._note_merge(done)

    def decay(self, number: int, strategy: str) -> None:
        self.both_engines.both(lambda side: _rounded(facts.decay(self._graphing(side), 0.1, 0.1, bool(number % 4))))

    def clear(self, number: int, strategy: str) -> None:
        self._note(self.both_engines.both(lambda side: collect.clear(self._tools(side), "DELETE ALL MEMORIES")))

    def find(self, number: int, strategy: str) -> None:
        """By a name, whoever has it or had it, and by a part of one."""
        self.both_engines.both(lambda side: side.store.graph.find(f"Thing {number % 5}"))
        self.both_engines.both(lambda side: _listed(side, f"ing {number % 3}", self._now))

    def _things(self, number: int) -> tuple[list[str], str]:
        return [f"Thing {each % 5}" for each in range(number, number + 1 + number % 2)], f"Thing {number // 5 % 5}"

    def _graphing(self, side: Side) -> GraphDependencies:
        return GraphDependencies(side.store.graph, "tester", lambda: self._now, side.new_id)

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
    found = side.store.graph.named(NamedEntities(part), None, 0, Rates(), now)
    counted = side.store.graph.counted([each for _, each in found])
    return sorted((each.id, each.mentions, each.relations) for each in counted)


def _unordered(undone: Any) -> Any:
    return undone.totals, sorted(undone.conflicts)


def _fading(strategy: str) -> Fading | None:
    return FADING if strategy == "decayed" else None


def _without_restore(told: Any) -> Any:
    """Without how the copy came to the other side."""
    verdict, way, history = told
    return verdict, way, [event for event in history if event.action != "restore"]


ACTS = (
    "plan", "plan", "choose", "retract", "preview", "apply a part", "apply", "apply", "prune", "prune",
    "prune in steps", "undo", "recover", "delete", "delete forever", "remove tombstone", "pin", "purge", "look",
    "explain", "check deletion", "files",
)  # fmt: skip
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


def runs(names: tuple[str, ...], least: int, most: int) -> st.SearchStrategy[list[tuple[str, int, str]]]:
    """Acts with a number that they take what they need from, and a strategy of the collector."""
    one = st.tuples(st.sampled_from(names), st.integers(0, 30), st.sampled_from(WITHOUT_QUESTION))
    return st.lists(one, min_size=least, max_size=most)


@contextmanager
def both_sides(spec: StoreSpec) -> Iterator[Acting]:
    """The same workspace twice, beside folders in which some of its files are missing."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
        for root in (Path(folder, "0", "src"), Path(folder, "1", "src")):
            root.mkdir(parents=True)
            for name in ("m0.py", "m1.py", "m4.py", "other.py"):
                (root / name).touch()
        with both_engines(replace(spec, folder=folder)) as pair:
            yield Acting(pair, Path(folder))


@given(random_stores(closed=True), runs(ACTS, 1, 8))
@settings(max_examples=rounds(6, 25))
def test_any_run_of_acts_gives_the_same_on_falkor(spec: StoreSpec, acts: list[tuple[str, int, str]]) -> None:
    with both_sides(spec) as acting:
        acting.both_engines.same()
        for name, number, strategy in acts:
            acting.act(name, number, strategy)
            acting.both_engines.same()


STATED_TWICE = StoreSpec(
    notes=(Note("in a file", path="src/m0.py", pinned=True), Note("in a note")),
    things=(Thing("Thing 0", pinned=True, explicit=True), Thing("Thing 1", pinned=True, explicit=True)),
    links=(Link(0, 0, explicit=True, sources=(1, 0)),),
)
MERGED_AND_CLEARED = StoreSpec(
    notes=tuple(
        Note(f"{'alpha ' * times}{number}", path, pinned=number < 5, age_days=0.5, never_seen=True)
        for number, (times, path) in enumerate(((1, "src/m0.py"), *((times, None) for times in (9, 6, 1, 12, 1))))
    ),
    things=tuple(Thing(f"Thing {number}", pinned=True, explicit=True, age_days=0.5) for number in range(7)),
    links=(Link(0, 0, explicit=True, weight=None), Link(0, 0, "calls", explicit=True, sources=(5, 0), weight=None)),
)
"""The plan of the last clear once protected other things on FalkorDB."""


@given(random_stores(), runs(UPKEEP, 3, 10))
@example(STATED_TWICE, [("clear", 0, ""), ("clear", 0, "")])
@example(MERGED_AND_CLEARED, [(name, 0, "") for name in "merge merge clear".split() + 6 * ["merge"] + ["clear"]])
@settings(max_examples=rounds(6, 25))
def test_any_merging_splitting_fading_and_clearing_gives_the_same_on_falkor(
    spec: StoreSpec, acts: list[tuple[str, int, str]]
) -> None:
    with both_sides(spec) as acting:
        for name, number, strategy in acts:
            acting.act(name, number, strategy)
            acting.both_engines.same()


@pytest.mark.parametrize("strategy", WITHOUT_QUESTION)
def test_every_strategy_finds_the_same_garbage_on_falkor(strategy: str) -> None:
    """In a workspace in which each of them finds something."""
    with both_sides(GARBAGE) as acting:
        plan = acting.both_engines.both(
            lambda side: collect.plan(side.tools(NOW + timedelta(hours=1)), strategy, 1.0, _fading(strategy))
        )
        assert plan.item_count > 0
        acting.hours = 1
        acting.plans.append(plan.id)
        acting.apply(1, strategy)
        acting.both_engines.same()
        acting.prune(1, strategy)
        acting.undo(0, strategy)
        acting.both_engines.same()


@pytest.mark.parametrize("name", ["choose", "retract"])
def test_what_somebody_names_goes_and_comes_back_the_same_on_falkor(name: str) -> None:
    with both_sides(GARBAGE) as acting:
        acting.act(name, 0, "")
        acting.apply(1, "")
        assert len(acting.receipts) == 1
        acting.both_engines.same()
        acting.undo(0, "")
        acting.both_engines.same()


def test_a_fact_of_a_note_in_the_trash_stands_by_itself_on_no_engine() -> None:
    """A pinned file states it still, and holds its ends; what only protects itself is told."""
    with both_sides(STATED_TWICE) as acting:
        for _ in range(2):
            plan = acting.both_engines.both(
                lambda side: collect.clear(acting._tools(side), "DELETE ALL MEMORIES").plan_id
            )
            told = acting.both_engines.both(lambda side, plan=plan: collect.load_plan(acting._tools(side), plan))
            assert [each["id"] for each in told.protected] == ["mem_000000000001", "ent_000000000002"]
        acting.both_engines.same()


_SAME = "the same words twice in one thread, as long as it takes to be told from chance"
GARBAGE = StoreSpec(
    notes=(
        Note("a stale file", path="src/m0.py", stale=True),
        Note("a missing file", path="src/m2.py"),
        Note("long ago", expires_days=-3.0),
        Note("nothing in it", chunks=0),
        Note(_SAME, thread="talk"),
        Note(_SAME, thread="talk"),
        Note("what holds the rest"),
    ),
    things=tuple(Thing(f"Thing {number}") for number in range(9)),
    links=(
        Link(0, 1, weight=0.0),
        Link(0, 2, weight=0.0, explicit=True, sources=(6,)),
        Link(0, 3, closed=True),
        Link(0, 4, closed=True, sources=(6,)),
        Link(5, 6, weight=0.0),
        Link(0, 7, sources=(0,)),
    ),
    mentions=((6, 0, 0), (0, 0, 7)),
    strays=((), (8,)),
)
