"""Facts read out of a text by rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.errors import BadInput
from memsweep.graph.building import BuildOptions, Named, possible_names, read_facts
from memsweep.model.stating import stated
from tests.support.engines import on_every_engine


def facts(text, names=("Ada", "Charles", "Engine", "London", "Redis", "Postgres"), known=None, **options):
    batch = read_facts(text, [Named(name, True) for name in names], known or {}, BuildOptions(**options))
    return [(each.subject.name, each.relation, each.object.name) for each in batch.relations]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada works on the Engine.", [("Ada", "WORKS_ON", "Engine")]),
        ("Ada, who lives in London, slept.", [("Ada", "LIVES_IN", "London")]),
        ("Ada was hired by Charles.", [("Ada", "HIRED_BY", "Charles")]),
        ("Redis is a Postgres.", [("Redis", "IS_A", "Postgres")]),
        ("Engine is in London.", [("Engine", "IS_IN", "London")]),
        ("Ada uses Redis and Postgres.", [("Ada", "USES", "Redis"), ("Ada", "USES", "Postgres")]),
        ("Ada uses Redis. Charles uses Postgres.", [("Ada", "USES", "Redis"), ("Charles", "USES", "Postgres")]),
        ("Ada and Charles slept.", []),
        ("Ada in London", []),
        ("Ada does not use Redis.", []),
        ("Ada doesn’t use Redis.", []),
        ("Ada went for a long walk through the whole of rainy London.", []),
        ("Ada -[WORKS_ON]-> Engine", [("Ada", "WORKS_ON", "Engine")]),
        ("Someone new --knows--> Ada", [("Someone new", "knows", "Ada")]),
        ("(Ada, met, a stranger)", [("Ada", "met", "a stranger")]),
        ("Ada met Ada", []),
        (" " * 900 + "->", []),
        ("- " * 400 + "->", []),
        ("a -[r]-> b -[r]-> c", []),
        (
            "Ada -[OWNS]-> checkout\nThe checkout depends on Redis.",
            [("Ada", "OWNS", "checkout"), ("checkout", "DEPENDS_ON", "Redis")],
        ),
        ("", []),
    ],
)
def test_what_a_sentence_says(text, expected):
    assert facts(text) == expected


@on_every_engine
def test_a_line_in_notation_carries_types_and_is_told(memory):
    built = memory.graph.build("Ada (Person) -[WORKS_ON]-> Engine (Project)")
    assert [(each.name, each.type) for each in memory.graph.related("Ada").entities] == [("Engine", "Project")]
    assert built.outcome.relations[0].weight == 1.0
    assert memory.graph.build("Ada -[WORKS_ON]-> Engine").outcome.relations[0].state == "strengthened"


@on_every_engine
def test_a_sentence_about_a_known_fact_adds_a_twentieth(memory):
    memory.graph.relate("Ada", "WORKS_ON", "the engine", weight=0.5)
    built = memory.graph.build("ada works on the engine, as always.")
    (fact,) = built.outcome.relations
    assert (fact.state, fact.relation) == ("strengthened", "WORKS_ON")
    assert fact.weight == pytest.approx(0.55, abs=1e-6)


@on_every_engine
def test_what_is_read_for_the_first_time_weighs_half(memory):
    (fact,) = memory.graph.build("Last year Ada met Charles Babbage in Turin.").outcome.relations
    assert (fact.subject, fact.relation, fact.object, fact.weight) == ("Ada", "MET", "Charles Babbage", 0.5)


def test_names_that_share_a_sentence_are_linked_on_request():
    assert facts("Ada and Redis", related=True) == [("Ada", "RELATED_TO", "Redis")]
    assert facts("Ada and Redis") == []


@on_every_engine
def test_a_look_writes_nothing(memory):
    memory.graph.relate("x", "R", "y")
    built = memory.graph.build("We saw Ada meet Charles.", {"dry_run": True, "types": {"ada": "Person"}})
    assert built.outcome is None
    assert ("Ada", "Person") in [(each.name, each.type) for each in built.batch.entities]
    assert memory.stats().total_entities == 2


@on_every_engine
def test_options_name_types_for_new_names(memory):
    memory.graph.build("We saw Ada meet Charles.", {"types": {"ADA": "Person"}, "default_type": "Being"})
    found, _ = memory.graph.entities(sort_by="name")
    assert [(each.name, each.type) for each in found] == [("Ada", "Person"), ("Charles", "Being")]


@pytest.mark.parametrize(
    "options", [[], {"colour": 1}, {"types": []}, {"weight": 2}, {"dry_run": "yes"}, {"types": {"a": 5}}]
)
def test_bad_options_are_refused(memory, options):
    with pytest.raises(BadInput):
        memory.graph.build("Ada", options)


@pytest.mark.slow
@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    names = sorted(possible_names(text))[:3]
    read_facts(text, [Named(name, True) for name in names], {}, BuildOptions(related=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada works on Engine", True),
        ("ADA was working on the engine.", True),
        ("Ada worked. On Engine nobody.", False),
        ("Ada does not work on Engine", False),
        ("Ada likes Engine", False),
        ("Ada works on something", False),
    ],
)
def test_a_text_states_a_fact_again_or_not(text, expected):
    assert list(stated(text, [("Ada", "WORKS_ON", "Engine")])) == ([0] if expected else [])
