"""The whole graph: status, doubts, communities, a briefing, queries."""

from datetime import timedelta

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.errors import BadInput, NotFound
from memsweep.graph.validate import communities, doubts, link, louvain, modularity
from memsweep.graph.whole_graph import brief, histogram, status
from tests.graph.surveys import NOW, survey
from tests.support.engines import on_every_engine
from tests.support.inside import facts_of

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.floats(0.01, 1)), max_size=40)


def kinds(found):
    return [each.kind for each in found]


def test_a_status_counts_and_measures():
    graph = survey(
        [("a", "R", "b"), ("b", "R", "c"), ("x", "S", "y")],
        types={"a": "Person"},
        alone=["lonely"],
        ended=[("c", "R", "x")],
    )
    found = status(graph, NOW)
    assert (found.entities, found.relations, found.current_facts, found.ended_facts) == (6, 4, 3, 1)
    assert (found.components, found.largest_component, found.orphans) == (3, 3, 1)
    assert found.density == pytest.approx(3 / 30)
    assert found.by_type == {"Concept": 5, "Person": 1}
    assert found.by_relation == {"R": 2, "S": 1}
    assert found.weight_histogram == (0,) * 9 + (3,)


def test_an_empty_graph_has_a_status_too():
    found = status(survey([]), NOW)
    assert (found.entities, found.components, found.largest_component, found.density) == (0, 0, 0, 0.0)


@given(st.lists(st.floats(0, 1)))
def test_a_histogram_counts_each_share_once(shares):
    assert sum(histogram(shares)) == len(shares)


CONTRADICTORY = {
    "two homes": [("Ada", "LIVES_IN", "London"), ("Ada", "lives in", "Paris")],
    "opposites": [("Ada", "LIKES", "Tea"), ("Ada", "DISLIKES", "Tea")],
    "both ways": [("Ada", "PARENT_OF", "Bob"), ("Bob", "parent-of", "Ada")],
}


@pytest.mark.parametrize("facts", CONTRADICTORY.values(), ids=CONTRADICTORY)
def test_what_cannot_both_be_true_is_a_contradiction(facts):
    (found,) = doubts(survey(facts), NOW)
    assert (found.kind, set(found.ids)) == ("contradiction", {"rel_0", "rel_1"})
    assert "Ada" in found.why


AGREEING = {
    "two friends": [("Ada", "KNOWS", "Mary"), ("Ada", "KNOWS", "Charles")],
    "one home each": [("Ada", "LIVES_IN", "London"), ("Bob", "LIVES_IN", "Paris")],
    "the same home twice": [("Ada", "LIVES_IN", "London"), ("Ada", "lives_in", "London")],
    "opposites of two": [("Ada", "LIKES", "Coffee"), ("Ada", "DISLIKES", "Milk")],
    "mutual": [("Ada", "KNOWS", "Robert"), ("Robert", "KNOWS", "Ada")],
}


@pytest.mark.parametrize("facts", AGREEING.values(), ids=AGREEING)
def test_what_can_be_true_together_is_no_contradiction(facts):
    assert "contradiction" not in kinds(doubts(survey(facts), NOW))


def test_an_ended_fact_contradicts_nothing():
    assert doubts(survey([("Ada", "LIVES_IN", "Paris")], ended=[("Ada", "LIVES_IN", "London")]), NOW) == []


def test_a_subject_whose_fact_was_replaced_has_one_object_of_that_relation():
    facts = [("Ada", "USES", "emacs"), ("Ada", "USES", "nano"), ("Bob", "USES", "emacs"), ("Bob", "USES", "nano")]
    (found,) = doubts(survey(facts, ended=[("Ada", "USES", "vim")]), NOW)
    assert set(found.names) == {"Ada", "emacs", "nano"}


@pytest.mark.parametrize(
    ("one", "other", "duplicate"),
    [
        ("New York", "new-york", True),
        ("Lovelace, Ada", "Ada Lovelace", True),
        ("PostgreSQL", "PostgresSQL", True),
        ("Analytical Engine", "Analytical Engines", True),
        ("version 1 beta", "version 2 beta", False),
        ("Redis", "Rails", False),
        ("Ada", "Ida", False),
        ("checkout service", "checkout client", False),
    ],
)
def test_names_that_are_nearly_the_same_are_doubted(one, other, duplicate):
    found = doubts(survey([], alone=[one, other]), NOW)
    assert kinds(found) == (["near_duplicate"] if duplicate else [])
    assert all(set(each.names) == {one, other} and 0.8 < each.score <= 1 for each in found)


@pytest.mark.parametrize("name", ["it", "The User", "x", "42", "system"])
def test_a_name_that_could_be_anything_is_doubted(name):
    assert kinds(doubts(survey([], alone=[name, "Kubernetes"]), NOW)) == ["generic_name"]


def test_a_fact_about_itself_or_without_an_end_hangs_in_the_air():
    whole = survey([("Ada", "KNOWS", "Ada"), ("Ada", "KNOWS", "Charles")])
    assert kinds(doubts(whole, NOW)) == ["dangling_fact"]
    cut = type(whole)(whole.entities[:1], whole.edges)
    assert kinds(doubts(cut, NOW)) == ["dangling_fact", "dangling_fact"]


def test_two_circles_of_friends_are_two_communities():
    left = [(a, "KNOWS", b) for a in "abcd" for b in "abcd" if a < b]
    right = [(a, "KNOWS", b) for a in "wxyz" for b in "wxyz" if a < b]
    found = communities(survey([*left, *right, ("a", "KNOWS", "z")]), NOW)
    assert [{each.name for each in one.members} for one in found.found] == [set("abcd"), set("wxyz")]
    assert [one.outside for one in found.found] == [1.0, 1.0]
    assert [one.inside for one in found.found] == [6.0, 6.0]
    assert {one.members[0].name for one in found.found} == {"a", "z"}  # the most central first
    assert found.modularity > 0.4


@given(PAIRS)
def test_communities_are_as_good_as_those_of_networkx(edges):
    links = link(range(13), edges)
    label = louvain(links)
    assert label.keys() == links.keys()
    assert label == louvain(link(range(13), edges))
    graph = networkx.Graph()
    graph.add_nodes_from(range(13))
    graph.add_weighted_edges_from((a, b, w) for a, near in links.items() for b, w in near.items() if a < b)
    groups = [{node for node in label if label[node] == home} for home in set(label.values())]
    ours = modularity(links, label)
    if graph.number_of_edges():
        assert ours == pytest.approx(networkx.community.modularity(graph, groups))
        best = networkx.community.louvain_communities(graph, seed=1)
        assert ours >= networkx.community.modularity(graph, best) - 0.15


def test_a_briefing_has_what_is_recent_central_contradictory_and_stale():
    old = survey([("Hub", "R", f"spoke {n}") for n in range(4)], weight=0.3, seen_days_ago=60)
    found = brief(old, NOW, 3)
    assert found.central[0][0].name == "Hub"
    assert len(found.stale) == len(found.recent) == 3
    assert found.names[1] == "Hub"
    fresh = brief(survey(CONTRADICTORY["opposites"]), NOW, 3)
    assert (fresh.stale, kinds(fresh.contradictory)) == ((), ["contradiction"])


@on_every_engine
def test_a_query_walks_from_several_and_keeps_to_what_holds(memory):
    memory.graph.relate("Ada", "LIVES_IN", "London")
    memory.graph.relate("London", "PART_OF", "England", weight=0.4)
    memory.graph.relate("Bob", "KNOWS", "Carol")
    memory.graph.relate("Ada", "LIVES_IN", "Paris", replaces=True)

    def names(*starts, **more):
        found = memory.graph.query(starts, **more)
        return {each.name: found.walk.distance[each.key] for each in found.entities}

    assert names("ada", "bob") == {"Paris": 1, "Carol": 1}
    assert names("Ada", include_ended=True) == {"Paris": 1, "London": 1, "England": 2}
    assert names("Ada", include_ended=True, hops=1) == {"Paris": 1, "London": 1}
    assert names("Ada", include_ended=True, min_weight=0.5) == {"Paris": 1, "London": 1}
    assert names("Ada", "Bob", relation_types=["knows"]) == {"Carol": 1}
    assert names("Ada", as_of="2020-01-01") == {}
    assert len(names("Ada", include_ended=True, limit=1)) == 1
    assert names("Ada", "Paris", include_ended=True) == {"London": 1, "England": 2}


@on_every_engine
def test_a_query_as_of_a_date_sees_what_held_then(memory):
    memory.graph.relate("Ada", "LIVES_IN", "London", valid_at="2020-01-01")
    closed = memory.graph.relate("Ada", "LIVES_IN", "Paris", replaces=True)
    assert closed.relations[0].superseded
    found = memory.graph.query("Ada", as_of="2021-06-01")
    assert [each.name for each in found.entities] == ["London"]
    moment = found.walk.edges[0].invalid_at - timedelta(microseconds=1)
    assert [each.name for each in memory.graph.query("Ada", as_of=moment).entities] == ["London"]


@pytest.mark.parametrize(
    "bad",
    [{"entities": []}, {"hops": 0}, {"hops": 11}, {"min_weight": 2}, {"limit": 0}, {"as_of": "yesterday"}],
)
def test_a_bad_query_is_refused(memory, bad):
    memory.graph.relate("Ada", "KNOWS", "Bob")
    with pytest.raises(BadInput, match=next(iter(bad))):
        memory.graph.query(**{"entities": ["Ada"], **bad})
    with pytest.raises(NotFound, match="Nobody"):
        memory.graph.query(["Ada", "Nobody"])


@on_every_engine
def test_what_a_store_holds_is_surveyed_in_the_order_of_its_making(memory):
    memory.graph.relate("Zoe", "KNOWS", "Ada", weight=0.5)
    memory.graph.relate("Ada", "KNOWS", "Bob")
    memory.graph.relate("Ada", "LIKES", "Carol")
    memory.graph.relate("Ada", "LIKES", "Dora", replaces=True)
    memory.remember("Ada and Zoe met.", entities=["Ada", "Zoe"])
    gone = memory.remember("Ada was here.", entities=["Ada", "Here"])
    memory.delete(gone.memory_id, confirm=True)
    found, _ = facts_of(memory).survey()
    assert [(each.name, each.mentions) for each in found.entities] == [
        ("Zoe", 1),
        ("Ada", 1),
        ("Bob", 0),
        ("Carol", 0),
        ("Dora", 0),
    ]
    named = {each.key: each.name for each in found.entities}
    assert [(named[edge.subject], edge.relation, named[edge.object]) for edge in found.edges] == [
        ("Zoe", "KNOWS", "Ada"),
        ("Ada", "KNOWS", "Bob"),
        ("Ada", "LIKES", "Carol"),
        ("Ada", "LIKES", "Dora"),
    ]
    assert [edge.invalid_at is None for edge in found.edges] == [True, True, False, True]
    told = memory.graph.status()
    assert (told.entities, told.relations, told.current_facts, told.ended_facts, told.orphans) == (5, 4, 3, 1, 0)
    assert {each.name for one in memory.graph.communities().found for each in one.members} >= {"Zoe", "Ada", "Bob"}
    assert memory.graph.briefing(limit=3).central[0][0].name == "Ada"
