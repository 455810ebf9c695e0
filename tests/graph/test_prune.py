"""graph_prune and graph_decay: what fades, what protects, what a plan holds, and that it comes back."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.clock import now
from memsweep.collector import collect
from memsweep.collector.planner import make_plan
from memsweep.collector.strategies.rule import Fading, Options
from memsweep.errors import BadInput, Conflict, Unconfirmed
from memsweep.model.decay import faded
from memsweep.model.plan import Survey, SurveyedEntity, SurveyedRelation
from memsweep.model.times import to_micros
from memsweep.services.memory import Memory
from memsweep.settings import load_settings
from tests.support import contents, store_files
from tests.support.engines import on_every_engine
from tests.support.inside import app_of, collector_of

NOW = now()
DAY = 86_400_000_000


def age(memory: Memory, days: float) -> None:
    """So many days pass."""
    app = app_of(memory)
    before = app.clock
    app.clock = lambda: before() + timedelta(days=days)


def planned(memory: Memory, **given: float | bool) -> set[str]:
    plan = memory.graph.plan_prune(**given)  # type: ignore[arg-type]
    return {item.name or "" for item in memory.sweep.items(plan.id, limit=50)}


def live(memory: Memory) -> set[str]:
    return {*contents.names(memory), *(relation for _, relation, _ in contents.facts(memory))}


@on_every_engine
def test_a_faded_relation_goes_with_the_ends_that_it_leaves_alone(memory: Memory) -> None:
    memory.graph.relate("Ada", "MET", "Charles", weight=0.5)
    memory.graph.relate("Ada", "WROTE", "Notes")
    assert planned(memory) == set()
    age(memory, 800)  # 0.5 × 0.997^800 = 0.045, 1.0 × 0.997^800 = 0.09
    assert planned(memory) == {"Ada MET Charles", "Charles"}
    receipt = memory.graph.prune(confirm=True)
    assert (receipt.totals.entities, receipt.totals.relations) == (1, 1)
    assert live(memory) == {"Ada", "Notes", "WROTE"}
    memory.sweep.undo(receipt.id)
    assert live(memory) == {"Ada", "Notes", "WROTE", "Charles", "MET"}


@on_every_engine
def test_nightly_storing_changes_nothing(memory: Memory) -> None:
    memory.graph.relate("Ada", "MET", "Charles")
    age(memory, 30)
    first = memory.graph.decay(dry_run=False)
    for _ in range(30):
        assert memory.graph.decay(dry_run=False).faded[0].current == pytest.approx(first.faded[0].current, abs=1e-6)
    edge = next(fact for fact in first.faded if fact.type == "MET")
    assert edge.current == pytest.approx(0.997**30, abs=1e-4)  # 0.914, not 0.247
    assert memory.graph.related("Ada").walk.edges[0].weight == pytest.approx(edge.current, abs=1e-4)
    (stored,) = store_files.rows_of(memory)["relation"]
    assert stored["current"] == pytest.approx(edge.current, abs=1e-4)


@on_every_engine
def test_an_unknown_weight_protects(app: App) -> None:
    app.memory("other").graph.relate("Ada", "MET", "Charles")
    graph = json.loads(app.memory("other").graph.dump())
    graph["relations"][0]["weight"] = None
    memory = app.memory()
    memory.graph.load(json.dumps(graph))
    age(memory, 5000)
    assert live(memory) == {"Ada", "Charles", "MET"}
    assert planned(memory) == set()


@on_every_engine
def test_one_plan_has_the_edges_and_what_they_orphan_and_says_what_it_did(memory: Memory) -> None:
    for left, right in (("A", "B"), ("B", "C"), ("C", "A")):
        memory.graph.relate(left, "NEXT", right)
    age(memory, 5000)
    assert planned(memory) == {"A", "B", "C", "A NEXT B", "B NEXT C", "C NEXT A"}
    receipt = memory.graph.prune(confirm=True)
    assert (receipt.totals.entities, receipt.totals.relations) == (3, 3)
    assert planned(memory) == set()


@on_every_engine
def test_thresholds_come_from_the_settings(make: Callable[..., App]) -> None:
    memory = make(MEMSWEEP_GRAPH_EDGE_THRESHOLD="0.95").memory()
    memory.graph.relate("Ada", "MET", "Charles")
    age(memory, 40)
    assert planned(memory) == {"Ada", "Charles", "Ada MET Charles"}
    assert planned(memory, edge_threshold=0.05) == set()


@on_every_engine
def test_rates_come_from_the_settings(make: Callable[..., App]) -> None:
    memory = make(MEMSWEEP_GRAPH_RATES="Person=0.5").memory()
    memory.graph.relate("Ada", "MET", "Charles", from_type="Person", to_type="Project")
    age(memory, 10)
    confidence = {entity.name: entity.confidence for entity in memory.graph.entities()[0]}
    assert confidence["Ada"] == pytest.approx(0.5**10, rel=1e-3)
    assert confidence["Charles"] == pytest.approx(0.995**10, rel=1e-3)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("RATES", "person=0"),
        ("OTHER_RATE", "1.5"),
        ("EDGE_RATE", "nan"),
        ("NODE_THRESHOLD", "-1"),
        ("MAX_AGE_DAYS", "x"),
    ],
)
def test_impossible_settings_are_refused(tmp_path: Path, setting: str, value: str) -> None:
    with pytest.raises(Exception, match=r"graph\."):
        load_settings({"MEMSWEEP_HOME": str(tmp_path), f"MEMSWEEP_GRAPH_{setting}": value})


@on_every_engine
def test_what_was_seen_lately_or_is_mentioned_stays(memory: Memory) -> None:
    memory.graph.relate("Ada", "MET", "Charles", weight=0.01)
    memory.remember("A note about Grace.", entities=["Grace"])
    memory.graph.relate("Grace", "MET", "Ada", weight=0.01)
    age(memory, 20)
    assert planned(memory) == {"Ada MET Charles", "Grace MET Ada"}  # nodes seen within 30 days stay
    age(memory, 20)
    assert planned(memory) == {"Ada MET Charles", "Grace MET Ada", "Ada", "Charles"}  # Grace is mentioned
    assert planned(memory, include_orphans=False) == {"Ada MET Charles", "Grace MET Ada"}
    assert planned(memory, max_age_days=100) == {"Ada MET Charles", "Grace MET Ada"}


@on_every_engine
def test_a_pinned_or_permanent_subject_protects_its_relations_and_itself(memory: Memory) -> None:
    memory.graph.relate("Be kind", "APPLIES_TO", "Everyone", from_type="Rule")
    memory.graph.relate("Ada", "MET", "Charles")
    ada = memory.graph.entities("Ada")[0][0]
    memory.pin(ada.id, True)
    age(memory, 5000)
    plan = memory.graph.plan_prune()
    assert plan.item_count == 0
    assert {(item["name"], item["reason"]) for item in plan.protected} == {
        ("Be kind APPLIES_TO Everyone", "its subject: permanent type"),
        ("Ada MET Charles", "its subject: pinned"),
    }


@on_every_engine
def test_what_indexed_code_states_has_not_faded(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "app.py").write_text("class Base: pass\n\n\nclass Child(Base): pass\n")
    memory.code.index(tmp_path / "repo")
    assert len(live(memory)) > 2
    age(memory, 5000)
    assert planned(memory) == set()


@on_every_engine
def test_what_a_live_memory_states_has_not_faded_though_it_was_given_explicitly(memory: Memory) -> None:
    source = memory.remember("They met at a party.").memory_id
    memory.graph.relate("Ada", "MET", "Charles", weight=0.01, source=source)
    memory.graph.relate("Ada", "MET", "Charles", weight=0.01)
    age(memory, 5000)
    assert planned(memory) == set()
    memory.delete(source, confirm=True)
    assert "Ada MET Charles" in planned(memory)


@on_every_engine
def test_a_faded_fact_that_a_memory_states_again_stays_with_its_ends(memory: Memory) -> None:
    source = memory.remember("They met at a party.").memory_id
    memory.graph.relate("Ada", "MET", "Charles", weight=0.01, source=source)
    memory.graph.relate("Ada", "MET", "Charles", weight=0.01)
    age(memory, 5000)
    memory.delete(source, confirm=True)
    plan = memory.graph.plan_prune()
    memory.sweep.recover(source)
    receipt = memory.sweep.apply(plan.id, confirm=True)
    assert (receipt.totals.entities, receipt.totals.relations) == (0, 0)
    assert {why for _, why in receipt.skipped} == {"in use again since the plan was made"}
    assert live(memory) == {"Ada", "Charles", "MET"}


@on_every_engine
@pytest.mark.parametrize("kind", ["confirm", "correct"])
def test_a_fact_that_changes_after_the_plan_is_skipped_with_its_ends(
    memory: Memory, kind: Literal["confirm", "correct"]
) -> None:
    memory.graph.relate("Ada", "MET", "Charles")
    age(memory, 5000)
    plan = memory.graph.plan_prune()
    memory.graph.reinforce("Ada", "MET", "Charles", kind=kind)
    receipt = memory.sweep.apply(plan.id, confirm=True)
    assert (receipt.totals.entities, receipt.totals.relations) == (0, 0)
    assert len(receipt.skipped) == 3
    assert live(memory) == {"Ada", "Charles", "MET"}


@on_every_engine
def test_more_than_half_of_the_graph_needs_to_be_asked_for(memory: Memory) -> None:
    for number in range(20):
        memory.graph.relate(f"A{number}", "MET", f"B{number}")
    age(memory, 5000)
    memory.graph.relate("Ada", "MET", "Charles")
    with pytest.raises(Unconfirmed):
        memory.graph.prune()
    with pytest.raises(Conflict, match=r"40 of 42 entities.*95%"):
        memory.graph.prune(confirm=True)
    receipt = memory.graph.prune(confirm=True, allow_large=True)
    assert live(memory) == {"Ada", "Charles", "MET"}
    memory.sweep.undo(receipt.id)
    assert len(live(memory)) == 43


@on_every_engine
@pytest.mark.parametrize("given", [{"node_threshold": 1.5}, {"edge_threshold": -0.1}, {"max_age_days": -1.0}])
def test_impossible_thresholds_are_refused(memory: Memory, given: dict[str, float]) -> None:
    memory.graph.relate("Ada", "MET", "Charles")
    with pytest.raises(BadInput, match=next(iter(given))):
        memory.graph.plan_prune(**given)  # type: ignore[arg-type]


@on_every_engine
def test_superseded_facts_go_when_they_have_been_closed_for_long(memory: Memory) -> None:
    memory.graph.relate("Ada", "LIVES_IN", "London")
    memory.graph.relate("Ada", "LIVES_IN", "Paris", replaces=True)
    assert memory.sweep.plan("superseded").item_count == 0
    plan = memory.sweep.plan("superseded", ttl_days=0)
    assert [item.name for item in memory.sweep.items(plan.id)] == ["Ada LIVES_IN London"]
    receipt = memory.sweep.apply(plan.id, confirm=True)
    assert receipt.totals.relations == 1
    (trashed,), total = memory.sweep.trash()
    assert (trashed.kind, trashed.name, total) == ("relation", "Ada LIVES_IN London", 1)
    memory.sweep.undo(receipt.id)
    later = collect.plan(replace(collector_of(memory), clock=lambda: now() + timedelta(days=31)), "superseded")
    assert later.item_count == 1


# the rule against a plain reading of it


@st.composite
def graphs(draw: st.DrawFn) -> Survey:
    count = draw(st.integers(0, 7))
    days = st.sampled_from([0.0, 10.0, 31.0, 400.0, 3000.0])
    seen = st.builds(lambda back: to_micros(NOW) - round(back * DAY), days)
    entities = [
        SurveyedEntity(
            key,
            1,
            draw(st.sampled_from(["concept", "event", "rule"])),
            draw(st.integers(0, 6)) == 0,
            draw(st.booleans()),
            0,
            draw(st.sampled_from([0.05, 1.0])),
            draw(seen),
        )
        for key in range(count)
    ]
    ends = st.integers(0, count - 1) if count else st.nothing()
    weights = st.sampled_from([None, 0.01, 0.5, 1.0])
    relations = [
        SurveyedRelation(key, 1, draw(ends), draw(ends), draw(weights), draw(seen), None, draw(st.integers(0, 4)) == 0)
        for key in range(draw(st.integers(0, 8)) if count else 0)
    ]
    mentions = [(1, draw(ends))] if count and draw(st.booleans()) else []
    return Survey(entities=entities, relations=relations, mentions=mentions)


@given(graphs(), st.booleans())
def test_the_rule_is_what_it_says(survey: Survey, include_orphans: bool) -> None:
    options = Options(NOW, fading=Fading(include_orphans=include_orphans))
    draft = make_plan(survey, "decayed", options, "w")
    taken = {(item.kind, item.key) for item in draft.items}
    safe = {row.key for row in survey.entities if row.pinned or row.type_key == "rule"}
    gone = {
        row.key
        for row in survey.relations
        if row.weight is not None
        and not row.stated
        and row.subject not in safe
        and faded(row.weight, 0.997, options.days_since(row.last_seen)) < 0.05
    }
    assert {key for kind, key in taken if kind == "relation"} == gone
    left = [row for row in survey.relations if row.key not in gone]
    month = options.micros_ago(30)

    def group(key: int) -> set[int]:
        found, before = {key}, set()
        while found != before:
            before = set(found)
            found |= {end for row in left if {row.subject, row.object} & found for end in (row.subject, row.object)}
        return found

    mentioned = {entity for _, entity in survey.mentions}
    mentioned |= {end for row in left if row.stated for end in (row.subject, row.object)}
    by_key = {row.key: row for row in survey.entities}
    for row in survey.entities:
        related = any(row.key in (edge.subject, edge.object) for edge in left)
        members = [by_key[key] for key in group(row.key)]
        unseen = all(each.key not in mentioned and each.key not in safe and each.last_seen <= month for each in members)
        low = options.has_faded(row.confidence, row.type_key, row.last_seen)
        untold = not any(each.explicit for each in members)
        expected = unseen and ((low or include_orphans) if not related else include_orphans and untold)
        assert (("entity", row.key) in taken) == expected
