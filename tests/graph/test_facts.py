"""Facts through the library: made, strengthened, superseded, corrected, walked."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memsweep.clock import now
from memsweep.errors import BadInput, NotFound, UnknownWorkspace
from memsweep.graph import facts
from memsweep.graph.facts import Graphing
from memsweep.model.decay import Rates
from tests.support.engines import on_every_engine

pytestmark = on_every_engine


@pytest.fixture
def graph(make):
    return make().memory("work")


def at(memory, days):
    """The same graph, seen so many days later."""
    tools = memory._graphing()
    return Graphing(tools.store, "test", lambda: now() + timedelta(days=days), tools.new_id)


def test_a_fact_is_made_with_its_ends_and_found_again(graph):
    made = graph.relate("Ada", "WORKS_ON", "Engine", from_type="Person", to_type="Project", weight=0.8)
    assert [each.state for each in made.relations] == ["created"]
    assert len(made.entities_created) == 2
    found = graph.related("ada")
    assert [(each.name, each.type) for each in found.entities] == [("Engine", "Project")]
    assert found.walk.edges[0].weight == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize(("second", "expected"), [(0.9, 0.9), (0.2, 0.5)])
def test_the_same_fact_again_takes_the_larger_weight(graph, second, expected):
    graph.relate("A", "KNOWS", "B", weight=0.5)
    again = graph.relate("ａ", "knows", "b", weight=second)  # a wide letter and another case are the same name
    assert again.relations[0].state == "strengthened"
    assert again.relations[0].weight == pytest.approx(expected, abs=1e-6)
    assert again.entities_created == ()


def test_a_fact_that_replaces_closes_the_old_one(graph):
    old = graph.relate("Ada", "LIVES_IN", "London").relations[0]
    new = graph.relate("Ada", "LIVES_IN", "Paris", replaces=True).relations[0]
    assert new.superseded == (old.id,)
    assert [each.name for each in graph.related("Ada").entities] == ["Paris"]
    ada = graph.related("Ada").start.key
    edges = {edge.id: edge for edge in graph._graphing().store.edges_at([ada], None, Rates(), now())}
    closed = edges[old.id]
    assert closed.valid_at is not None
    assert closed.invalid_at is not None
    moment = closed.invalid_at - timedelta(microseconds=1)
    then = facts.related(graph._graphing(), "Ada", depth=1, limit=9, relation_types=None, as_of=moment)
    assert [each.name for each in then.entities] == ["London"]


def test_a_batch_links_local_ids_and_known_names(graph):
    graph.relate("Ada", "WORKS_ON", "Engine")
    result = graph.relate_many(
        {
            "entities": [{"local_id": "e1", "name": "Charles", "type": "Person"}],
            "relations": [
                {"from": "e1", "to": "Ada", "relation": "KNOWS"},
                {"from": "e1", "to": "Engine", "relation": "OWNS"},
            ],
        }
    )
    assert [(each.subject, each.object) for each in result.relations] == [("Charles", "Ada"), ("Charles", "Engine")]


def test_a_batch_that_fails_half_way_leaves_nothing(graph):
    graph.relate("Ada", "KNOWS", "Charles")
    before = graph.stats()
    batch = {
        "entities": [{"local_id": "x", "name": "New"}],
        "relations": [{"from": "x", "to": "Ada", "relation": "R"}, {"from": "x", "to": "Nobody", "relation": "R"}],
    }
    with pytest.raises(NotFound, match="Nobody"):
        graph.relate_many(batch)
    after = graph.stats()
    assert (after.total_entities, after.total_relations) == (before.total_entities, before.total_relations)


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
def test_a_bad_batch_is_refused_with_a_sentence(graph, batch):
    with pytest.raises(BadInput):
        graph.relate_many(batch)


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), True, "0.5"])
def test_a_weight_is_a_share(graph, weight):
    with pytest.raises(BadInput, match="weight"):
        graph.relate("a", "R", "b", weight=weight)


def test_confirming_adds_and_starts_the_clock_anew(graph):
    graph.relate("A", "R", "B", weight=0.5)
    later = at(graph, 100)
    result = facts.reinforce(later, "A", "B", "r", "confirm", None, "seen again")
    assert result.old_weight == pytest.approx(0.5 * 0.997**100, abs=1e-3)
    assert result.new_weight == pytest.approx(result.old_weight + 0.15, abs=1e-3)
    edge = facts.related(later, "A", depth=1, limit=9, relation_types=None).walk.edges[0]
    assert edge.weight == pytest.approx(result.new_weight, abs=1e-3)


def test_correcting_takes_away_and_keeps_the_clock(graph):
    graph.relate("A", "R", "B", weight=0.9)
    later = at(graph, 50)
    result = facts.reinforce(later, "A", "B", "R", "correct", None, "wrong")
    assert result.new_weight == pytest.approx(result.old_weight - 0.3, abs=1e-3)
    much_later = at(graph, 150)
    edge = facts.related(much_later, "A", depth=1, limit=9, relation_types=None).walk.edges[0]
    assert edge.weight == pytest.approx(result.new_weight * 0.997**100, abs=1e-3)


def test_a_correction_is_in_the_audit_log_with_its_reason(graph):
    graph.relate("A", "R", "B")
    graph.reinforce("A", "R", "B", kind="correct", reason="was a joke")
    assert ("correct", "was a joke") in [(event.action, event.reason) for event in graph.audit()]


def test_reinforcing_what_is_not_there_is_an_error(graph):
    graph.relate("A", "R", "B")
    with pytest.raises(NotFound, match="OTHER"):
        graph.reinforce("A", "OTHER", "B")


def test_a_walk_goes_as_deep_as_asked_through_cycles(graph):
    for left, right in [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]:
        graph.relate(left, "R", right)
    assert {each.name for each in graph.related("a", depth=1).entities} == {"b", "c"}
    far = graph.related("a", depth=2)
    assert {each.name: far.walk.distance[each.key] for each in far.entities} == {"b": 1, "c": 1, "d": 2}


def test_a_walk_can_be_kept_to_some_relations_and_a_number(graph):
    for n in range(5):
        graph.relate("hub", "LIKES" if n % 2 else "OWNS", f"spoke {n}")
    assert {each.name for each in graph.related("hub", relation_types=["likes"]).entities} == {"spoke 1", "spoke 3"}
    assert len(graph.related("hub", limit=2).entities) == 2


@pytest.mark.parametrize(("sort_by", "first"), [("last_seen", "Ada"), ("relations", "Hub"), ("name", "Ada")])
def test_entities_are_listed_in_the_order_asked_for(graph, sort_by, first):
    graph.relate("Hub", "R", "Ada")
    graph.relate("Hub", "R", "Bob")
    graph.relate("Hub", "KNOWS", "Ada")
    found, total = graph.entities(sort_by=sort_by)
    assert (found[0].name, total) == (first, 3)


@pytest.mark.parametrize(("search", "names"), [("ad", ["Ada"]), ("100%", ["100% sure"]), ("_", []), ("ÀDA", [])])
def test_a_search_in_names_takes_every_letter_as_it_is(graph, search, names):
    graph.relate("Ada", "IS", "100% sure")
    assert [each.name for each in graph.entities(search)[0]] == names


def test_reading_the_graph_of_an_unknown_workspace_lists_the_known(graph):
    with pytest.raises(UnknownWorkspace):
        graph.entities()


def test_what_add_memory_was_told_is_in_the_graph(graph):
    graph.add("Ada met Charles.", relations=[{"from": "Ada", "to": "Charles", "relation": "MET", "weight": 0.6}])
    assert [each.name for each in graph.related("Ada").entities] == ["Charles"]
