"""A verdict on one thing, from what lies around it, is the verdict of all rules over everything."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import Memory
from memsweep.collector import item_survey
from memsweep.collector.collect import CollectorDependencies, look_over
from memsweep.collector.history import explain
from memsweep.collector.item_survey import judge
from memsweep.collector.planner import CASCADE, STRATEGIES, plan_of
from memsweep.collector.strategies.rule import Options
from memsweep.model.plan import Found
from tests.collector.random_stores import random_stores
from tests.collector.stores import Note, StoreSpec, store_with
from tests.collector.test_duplicates_law import texts
from tests.falkor.both_engines import both_engines
from tests.support.counts import rounds
from tests.support.engines import ENGINES, on_every_engine
from tests.support.inside import collector_of


@st.composite
def specs(draw: st.DrawFn) -> StoreSpec:
    """Random stores, with notes that say nearly the same among them."""
    spec = draw(random_stores(closed=True))
    said = [text for text in draw(texts) if text.strip()]
    more = [Note(text, age_days=float(age)) for age, text in enumerate(said)]  # in one piece: a plot cuts words apart
    return replace(spec, notes=(*spec.notes, *more))


def check(tools: CollectorDependencies) -> None:
    """Each verdict is that over the whole, but for the way, which may be told in other words."""
    needs = {"ways"}.union(*(strategy.needs for strategy in STRATEGIES.values()))
    survey, _ = look_over(tools, needs)
    things = [("memory", row.key) for row in survey.memories] + [("entity", row.key) for row in survey.entities]
    with tools.store.reading() as rows:
        ids = rows.items.describe({"memory": [key for kind, key in things if kind == "memory"]})
        ids |= rows.items.describe({"entity": [key for kind, key in things if kind == "entity"]})
        options = tools.options()
        id_of = {key: found.id for (kind, key), found in ids.items() if kind == "memory"}
        for kind, key in things:
            uid = ids[kind, key].id
            wanted = judge(survey, kind, key, uid, options, tools.workspace_id, id_of.__getitem__)
            verdict, path, _ = explain(tools, uid)
            assert (verdict.alive, verdict.garbage_for, verdict.path) == (wanted.alive, wanted.garbage_for, wanted.path)
            assert verdict.because[: len(wanted.because)] == wanted.because
            assert [each.id for each in path] == [ids["entity", step].id for step in wanted.path]


def check_however_common(tools: CollectorDependencies, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is, and as if every word were common."""
    check(tools)
    with monkeypatch.context() as patch:
        patch.setattr(item_survey, "_COMMON", 0)
        check(tools)


@contextmanager
def collecting(engine: str, spec: StoreSpec) -> Iterator[CollectorDependencies]:
    if engine == "sqlite":
        with store_with(spec) as place:
            yield collector_of(place.app.memory())
    else:
        with both_engines(spec) as pair:
            yield pair.falkor.tools()


def law(engine: str, monkeypatch: pytest.MonkeyPatch, holds: Callable[..., None]) -> None:
    @settings(**({"max_examples": rounds(5, 40)} if engine == "falkor" else {}))
    @given(spec=specs())
    def of(spec: StoreSpec) -> None:
        with collecting(engine, spec) as tools:
            holds(tools, monkeypatch)

    of()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_closeup_says_what_the_whole_says(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law(engine, monkeypatch, check_however_common)


def check_deletions(tools: CollectorDependencies, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes with each memory, from what lies around it, is what goes by a look at everything."""
    (survey, _), options = look_over(tools, CASCADE), Options(tools.clock())
    for few in (0, 1, item_survey._FEW):  # judged at every step, and at the end alone
        monkeypatch.setattr(item_survey, "_FEW", few)
        with tools.store.changing() as tx:
            for row in survey.memories:
                found = [Found("memory", row.key, "deleted")]
                whole, near = (
                    {(item.kind, item.key, item.version) for item in plan_of(seen, found, options, "w").items}
                    for seen in (survey, item_survey.around_deletion(tx, row.key, options))
                )
                assert near == whole


@pytest.mark.parametrize("engine", ENGINES)
def test_a_deletion_takes_what_the_whole_says(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law(engine, monkeypatch, check_deletions)


@on_every_engine
def test_a_deletion_looks_at_no_more_than_what_hangs_together(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [memory.remember(f"Ada drives crane {number}.", entities=["Ada", f"C{number}"]) for number in range(8)]
    for number in range(20):
        memory.graph.relate(f"X{number}", "NEAR", f"X{number + 1}")
    memory.graph.relate("C1", "NEAR", "X1")
    looked_at: list[int] = []
    monkeypatch.setattr(
        "memsweep.collector.collect.plan_of",
        lambda survey, *more: looked_at.append(len(survey.entities)) or plan_of(survey, *more),
    )
    for each in told[:2]:
        memory.delete(each.memory_id, confirm=True)
    assert max(looked_at) <= 3
    assert memory.stats().total_memories == 6


@on_every_engine
def test_most_is_told_without_a_look_at_everything(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [memory.remember(f"Ada drives crane {number}, as all know.", entities=["Ada"]) for number in range(8)]
    monkeypatch.setattr(item_survey, "_MOST_LOOKED_AT", 3)  # so that common words would not do
    monkeypatch.setattr("memsweep.collector.history.look_over", None)
    for number in range(9):
        memory.graph.relate("Ada", "KNOWS", f"friend {number}")
    monkeypatch.setattr(item_survey, "_MOST_CONNECTED", 5)
    assert memory.sweep.explain(memory.graph.names("friend 3").entities[0].id)[0].alive
    assert memory.sweep.explain(memory.graph.names("ada").entities[0].id)[0].alive
    assert memory.sweep.explain(told[3].memory_id)[0].alive
