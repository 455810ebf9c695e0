"""One thing is one entity, however often and at whichever door it is named."""

from collections import Counter

import pytest

from memsweep.services.memory import Memory
from tests.support.engines import on_every_engine

pytestmark = on_every_engine
ADA = {"name": "Ada", "type": "Person"}


def named(memory: Memory) -> list[tuple[str, str]]:
    return sorted((entity.name, entity.type) for entity in memory.graph.entities(limit=500)[0])


def facts(memory: Memory, entity: str) -> set[tuple[str, str]]:
    found = memory.graph.related(entity)
    names = {each.key: each.name for each in (found.start, *found.entities)}
    return {(edge.relation, names[edge.object]) for edge in found.walk.edges if names[edge.subject] == entity}


def test_an_end_of_a_relation_is_the_entity_that_was_named_beside_it(memory: Memory) -> None:
    said = memory.remember(
        "Ada wrote the notes.", entities=[ADA], relations=[{"from": "Ada", "relation": "WROTE", "to": "Notes"}]
    )
    assert named(memory) == [("Ada", "Person"), ("Notes", "Concept")]
    assert said.entities_created == 2
    assert facts(memory, "Ada") == {("WROTE", "Notes")}


def test_thirty_calls_make_as_many_entities_as_there_are_names(memory: Memory) -> None:
    for n in range(30):
        memory.remember(
            f"Person {n} works on the Engine, day {n}.",
            entities=[{"name": f"Person {n}", "type": "Person"}, {"name": "Engine", "type": "Project"}],
            relations=[{"from": f"Person {n}", "relation": "WORKS_ON", "to": "Engine"}],
        )
    assert max(Counter(name for name, _ in named(memory)).values()) == 1
    assert len(named(memory)) == 31
    assert len(memory.graph.related("Engine", limit=500).entities) == 30
    assert memory.care.doctor().findings == ()


def test_a_name_without_a_type_is_the_entity_that_has_the_name(memory: Memory) -> None:
    memory.graph.relate("Ada", "KNOWS", "Charles", from_type="Person", to_type="Person")
    memory.remember("Ada met Charles.", entities=["ada"])
    memory.remember("Ada wrote to Charles.", relations=[{"from": "ADA", "relation": "WROTE_TO", "to": "charles"}])
    assert named(memory) == [("Ada", "Person"), ("Charles", "Person")]
    assert facts(memory, "Ada") == {("KNOWS", "Charles"), ("WROTE_TO", "Charles")}


def test_names_resolve_as_graph_relate_resolves_them(memory: Memory) -> None:
    """Of several: handed in before found, pinned before not, the one seen last."""
    for kind in ("Planet", "Element", "God"):
        memory.graph.relate("Mercury", "IS_A", f"Kind of {kind}", from_type=kind)
    planet = next(each for each in memory.graph.entities("Mercury")[0] if each.type == "Planet")
    memory.pin(planet.id)
    memory.remember("Mercury is hot.", relations=[{"from": "Mercury", "relation": "HAS", "to": "Day side"}])
    memory.graph.relate("Mercury", "HAS", "Night side")
    ends = {(edge.subject, edge.relation) for edge in memory.graph.related(planet.id).walk.edges}
    assert {(planet.key, "HAS"), (planet.key, "IS_A")} <= ends
    assert len([name for name, _ in named(memory) if name == "Mercury"]) == 3


def test_what_is_named_in_the_same_call_comes_first(memory: Memory) -> None:
    memory.pin(memory.graph.relate("Mercury", "IS_A", "Planet", from_type="Planet").entities_created[0])
    memory.remember(
        "Mercury carries messages.",
        entities=[{"name": "Mercury", "type": "God"}],
        relations=[{"from": "Mercury", "relation": "CARRIES", "to": "Messages"}],
    )
    god = next(each for each in memory.graph.entities("Mercury")[0] if each.type == "God")
    assert {edge.relation for edge in memory.graph.related(god.id).walk.edges} == {"CARRIES"}


def test_two_types_that_were_given_are_two_entities(memory: Memory) -> None:
    memory.remember(
        "Java and Java", entities=[{"name": "Java", "type": "Island"}, {"name": "Java", "type": "Language"}]
    )
    assert named(memory) == [("Java", "Island"), ("Java", "Language")]


def test_an_old_name_is_the_entity_it_became(memory: Memory) -> None:
    memory.remember(
        "Bob and Robert", entities=[{"name": "Bob", "type": "Person"}, {"name": "Robert", "type": "Person"}]
    )
    memory.graph.merge(["Bob"], "Robert")
    memory.remember("Bob sails.", relations=[{"from": "Bob", "relation": "OWNS", "to": "Boat"}])
    assert facts(memory, "Robert") == {("OWNS", "Boat")}
    assert [name for name, _ in named(memory) if name == "Bob"] == []


def test_the_same_text_told_again_makes_no_second_entity(memory: Memory) -> None:
    for _ in range(2):
        memory.remember("Ada, Notes", entities=[ADA], relations=[{"from": "Ada", "relation": "WROTE", "to": "Notes"}])
    assert named(memory) == [("Ada", "Person"), ("Notes", "Concept")]


@pytest.fixture
def twice(memory: Memory) -> Memory:
    """As version 1 has made them: the end of a relation had a type of its own."""
    memory.graph.relate("Ada", "WROTE", "Notes", from_type="Person")
    memory.graph.relate("Ada", "KNOWS", "Charles", from_type="Concept")
    return memory


def test_the_doctor_finds_a_thing_that_is_there_twice_and_a_merge_cleans_up(twice: Memory) -> None:
    (found,) = twice.care.doctor().findings
    ids = {each.type: each.id for each in twice.graph.entities("Ada")[0]}
    shown = f"Ada: {ids['Concept']} (Concept), {ids['Person']} (Person)"
    assert (found.invariant, found.count, found.samples) == ("name_twice", 1, (shown,))
    twice.graph.merge([ids["Concept"]], ids["Person"])
    assert twice.care.doctor().findings == ()
    assert facts(twice, "Ada") == {("WROTE", "Notes"), ("KNOWS", "Charles")}


def test_names_with_types_of_their_own_and_code_are_no_finding(memory: Memory) -> None:
    for kind in ("Planet", "Element"):
        memory.graph.relate("Mercury", "IS_A", "Thing", from_type=kind)
    assert memory.care.doctor().findings == ()
    assert memory.stats().total_entities == 3


def test_what_nobody_sees_makes_no_other_name(memory: Memory) -> None:
    memory.remember("Ada wrote the notes.", entities=[ADA])
    for name in ("Ada\u200b", "\ufeffAda", "A\u00adda", "Ada\u2060"):
        memory.remember(f"{name!a} wrote on.", entities=[name])
        memory.graph.relate(name, "KNOWS", "Bob")
    assert named(memory) == [("Ada", "Person"), ("Bob", "Concept")]
    assert facts(memory, "Ada") == {("KNOWS", "Bob")}
