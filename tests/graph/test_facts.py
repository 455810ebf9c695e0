"""Facts through the library: made, strengthened, superseded, corrected, walked."""

from datetime import timedelta

import pytest

from memsweep.clock import now
from memsweep.errors import BadInput, NotFound, UnknownWorkspace
from memsweep.graph import facts
from memsweep.graph.facts import GraphDependencies
from memsweep.model.decay import Rates
from tests.support.engines import on_every_engine
from tests.support.inside import facts_of

pytestmark = on_every_engine


@pytest.fixture
def memory(make):
    return make().memory("work")


def at(memory, days):
    """The same memory, seen so many days later."""
    tools = facts_of(memory)
    return GraphDependencies(tools.store, "test", lambda: now() + timedelta(days=days), tools.new_id)


def test_a_fact_is_made_with_its_ends_and_found_again(memory):
    made = memory.graph.relate("Ada", "WORKS_ON", "Engine", from_type="Person", to_type="Project", weight=0.8)
    assert [each.state for each in made.relations] == ["created"]
    assert len(made.entities_created) == 2
    found = memory.graph.related("ada")
    assert [(each.name, each.type) for each in found.entities] == [("Engine", "Project")]
    assert found.walk.edges[0].weight == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize(("second", "expected"), [(0.9, 0.9), (0.2, 0.5)])
def test_the_same_fact_again_takes_the_larger_weight(memory, second, expected):
    memory.graph.relate("A", "KNOWS", "B", weight=0.5)
    again = memory.graph.relate("ａ", "knows", "b", weight=second)  # a wide letter and another case are the same name
    assert again.relations[0].state == "strengthened"
    assert again.relations[0].weight == pytest.approx(expected, abs=1e-6)
    assert again.entities_created == ()


def test_a_fact_that_replaces_closes_the_old_one(memory):
    old = memory.graph.relate("Ada", "LIVES_IN", "London").relations[0]
    new = memory.graph.relate("Ada", "LIVES_IN", "Paris", replaces=True).relations[0]
    assert new.superseded == (old.id,)
    assert [each.name for each in memory.graph.related("Ada").entities] == ["Paris"]
    ada = memory.graph.related("Ada").start.key
    edges = {edge.id: edge for edge in facts_of(memory).store.edges_at([ada], None, Rates(), now())}
    closed = edges[old.id]
    assert closed.valid_at is not None
    assert closed.invalid_at is not None
    moment = closed.invalid_at - timedelta(microseconds=1)
    then = memory.graph.query("Ada", hops=1, as_of=moment)
    assert [each.name for each in then.entities] == ["London"]


def test_a_batch_links_local_ids_and_known_names(memory):
    memory.graph.relate("Ada", "WORKS_ON", "Engine")
    result = memory.graph.relate_many(
        {
            "entities": [{"local_id": "e1", "name": "Charles", "type": "Person"}],
            "relations": [
                {"from": "e1", "to": "Ada", "relation": "KNOWS"},
                {"from": "e1", "to": "Engine", "relation": "OWNS"},
            ],
        }
    )
    assert [(each.subject, each.object) for each in result.relations] == [("Charles", "Ada"), ("Charles", "Engine")]


@pytest.mark.parametrize(
    "batch",
    [
        {},
        [],
        {"relations": [{"from": "a", "to": "b"}]},
        {"entities": [{"name": "a"}, {"name": "a"}]},
        {"entities": [{"name": "a", "colour": "red"}]},
        {"things": []},
        {"relations": [{"from": "a", "to": "b", "relation": "R", "weight": 2}]},
        {"entities": ["a"]},
    ],
)
def test_a_bad_batch_is_refused_with_a_sentence(memory, batch):
    with pytest.raises(BadInput):
        memory.graph.relate_many(batch)


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), True, "0.5"])
def test_a_weight_is_a_share(memory, weight):
    with pytest.raises(BadInput, match="weight"):
        memory.graph.relate("a", "R", "b", weight=weight)


def test_confirming_adds_and_starts_the_clock_anew(memory):
    memory.graph.relate("A", "R", "B", weight=0.5)
    later = at(memory, 100)
    result = facts.reinforce(later, "A", "B", "r", "confirm", None, "seen again")
    assert result.old_weight == pytest.approx(0.5 * 0.997**100, abs=1e-3)
    assert result.new_weight == pytest.approx(result.old_weight + 0.15, abs=1e-3)
    edge = facts.related(later, "A", depth=1, limit=9, relation_types=None).walk.edges[0]
    assert edge.weight == pytest.approx(result.new_weight, abs=1e-3)


def test_correcting_takes_away_and_keeps_the_clock(memory):
    memory.graph.relate("A", "R", "B", weight=0.9)
    later = at(memory, 50)
    result = facts.reinforce(later, "A", "B", "R", "correct", None, "wrong")
    assert result.new_weight == pytest.approx(result.old_weight - 0.3, abs=1e-3)
    much_later = at(memory, 150)
    edge = facts.related(much_later, "A", depth=1, limit=9, relation_types=None).walk.edges[0]
    assert edge.weight == pytest.approx(result.new_weight * 0.997**100, abs=1e-3)


def test_a_correction_is_in_the_audit_log_with_its_reason(memory):
    memory.graph.relate("A", "R", "B")
    memory.graph.reinforce("A", "R", "B", kind="correct", reason="was a joke")
    assert ("correct", "was a joke") in [(event.action, event.reason) for event in memory.sweep.audit()]


def test_reinforcing_what_is_not_there_is_an_error(memory):
    memory.graph.relate("A", "R", "B")
    with pytest.raises(NotFound, match="OTHER"):
        memory.graph.reinforce("A", "OTHER", "B")


def test_a_walk_goes_as_deep_as_asked_through_cycles(memory):
    for left, right in [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]:
        memory.graph.relate(left, "R", right)
    assert {each.name for each in memory.graph.related("a", depth=1).entities} == {"b", "c"}
    far = memory.graph.related("a", depth=2)
    assert {each.name: far.walk.distance[each.key] for each in far.entities} == {"b": 1, "c": 1, "d": 2}


def test_a_walk_can_be_kept_to_some_relations_and_a_number(memory):
    for n in range(5):
        memory.graph.relate("hub", "LIKES" if n % 2 else "OWNS", f"spoke {n}")
    assert {each.name for each in memory.graph.related("hub", relation_types=["likes"]).entities} == {
        "spoke 1",
        "spoke 3",
    }
    assert len(memory.graph.related("hub", limit=2).entities) == 2


@pytest.mark.parametrize(("sort_by", "first"), [("last_seen", "Ada"), ("relations", "Hub"), ("name", "Ada")])
def test_entities_are_listed_in_the_order_asked_for(memory, sort_by, first):
    memory.graph.relate("Hub", "R", "Ada")
    memory.graph.relate("Hub", "R", "Bob")
    memory.graph.relate("Hub", "KNOWS", "Ada")
    found, total = memory.graph.entities(sort_by=sort_by)
    assert (found[0].name, total) == (first, 3)


@pytest.mark.parametrize(("search", "names"), [("ad", ["Ada"]), ("100%", ["100% sure"]), ("_", []), ("ÀDA", [])])
def test_a_search_in_names_takes_every_letter_as_it_is(memory, search, names):
    memory.graph.relate("Ada", "IS", "100% sure")
    assert [each.name for each in memory.graph.entities(search)[0]] == names


def test_reading_the_graph_of_an_unknown_workspace_lists_the_known(app):
    with pytest.raises(UnknownWorkspace):
        app.memory("nowhere").graph.entities()


def test_what_add_memory_was_told_is_in_the_graph(memory):
    memory.remember("Ada met Charles.", relations=[{"from": "Ada", "to": "Charles", "relation": "MET", "weight": 0.6}])
    assert [each.name for each in memory.graph.related("Ada").entities] == ["Charles"]
