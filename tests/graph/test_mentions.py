"""Memories and code feed the graph: what a text mentions is seen, what it states again grows."""

from datetime import UTC, datetime, timedelta

import pytest

from memsweep.clock import new_id
from memsweep.memory.remember import make_draft, remember
from memsweep.model.decay import Rates
from memsweep.model.times import to_micros
from tests.support.engines import on_every_engine
from tests.support.inside import app_of, dump_of
from tests.support.store_files import file_of, problems

pytestmark = on_every_engine
DAYS = 100
LATER = timedelta(days=DAYS)


def add_at(memory, moment, text, **more):
    """`add` at another time than now."""
    app = app_of(memory)
    store = app.engine.open_or_create(memory.workspace_id, moment)
    return remember(store, app.embedder, app.local_model, make_draft(text, **more), now=moment, new_id=new_id)


def stored(memory):
    """Weight, evidence and last sighting of every relation, by subject and object."""
    graph = dump_of(memory)
    names = {entity.id: entity.name for entity in graph.entities}
    return {
        (names[fact.source], names[fact.target]): (fact.weight, fact.evidence, to_micros(fact.last_seen))
        for fact in graph.relations
    }


def seen(memory, name):
    (last,) = (each.last_seen for each in dump_of(memory).entities if each.name == name)
    return to_micros(last)


START = datetime(2026, 1, 1, tzinfo=UTC)
FACT = {"from": "Ada", "relation": "WORKS_ON", "to": "Engine"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, 0.5 * Rates().edge ** DAYS + 0.05),  # a mention
        ({"weight": 0.9}, 0.9),  # explicit, and more
        ({"weight": 0.1}, 0.5 * Rates().edge ** DAYS),  # explicit, and less than what is left
    ],
)
def test_a_fact_told_again_with_a_text_grows_from_what_is_left_of_it(memory, home, told, expected):
    add_at(memory, START, "Ada and the Engine", relations=[{**FACT, "weight": 0.5}])
    add_at(memory, START + LATER, "Something else", relations=[{**FACT, **told}])
    weight, evidence, last = stored(memory)["Ada", "Engine"]
    assert weight == pytest.approx(expected)
    assert (evidence, last) == (2, int((START + LATER).timestamp() * 1e6))


def test_a_text_that_states_a_known_fact_adds_a_twentieth(memory, home):
    add_at(memory, START, "first", entities=["Ada", "Engine"], relations=[{**FACT, "weight": 0.5}])
    add_at(memory, START + LATER, "We saw that Ada is working on her Engine.", entities=["Ada", "Engine"])
    weight, evidence, last = stored(memory)["Ada", "Engine"]
    assert weight == pytest.approx(0.5 * Rates().edge ** DAYS + 0.05)
    assert (evidence, last) == (2, int((START + LATER).timestamp() * 1e6))
    if app_of(memory).settings.store == "":
        assert problems(file_of(home)) == []


@pytest.mark.parametrize(
    "text", ["Ada does not work on the Engine.", "Ada likes the Engine.", "Ada sleeps. The Engine works on coal."]
)
def test_a_text_that_says_something_else_changes_no_weight(memory, home, text):
    add_at(memory, START, "first", relations=[{**FACT, "weight": 0.5}])
    before = stored(memory)
    add_at(memory, START + LATER, text, entities=["Ada", "Engine"])
    assert stored(memory) == before
    assert seen(memory, "Ada") == int((START + LATER).timestamp() * 1e6)  # mentioned all the same


def test_a_fact_both_told_and_stated_counts_once(memory, home):
    add_at(memory, START, "first", relations=[{**FACT, "weight": 0.5}])
    add_at(memory, START, "Ada works on the Engine.", relations=[FACT])
    assert stored(memory)["Ada", "Engine"][:2] == (pytest.approx(0.55), 2)


def test_a_mention_by_rule_or_by_the_same_text_again_is_a_sighting(memory, home):
    add_at(memory, START, "hello", entities=["Ada"])
    add_at(memory, START + LATER, "Yesterday we met Ada there.")
    assert seen(memory, "Ada") == int((START + LATER).timestamp() * 1e6)
    add_at(memory, START + 2 * LATER, "hello")
    assert seen(memory, "Ada") == int((START + 2 * LATER).timestamp() * 1e6)


def test_a_clock_that_went_backwards_makes_nothing_look_older(memory, home):
    add_at(memory, START, "first", relations=[{**FACT, "weight": 0.5}])
    add_at(memory, START - LATER, "Ada works on the Engine.", entities=["Ada", "Engine"])
    assert stored(memory)["Ada", "Engine"] == (pytest.approx(0.55), 2, int(START.timestamp() * 1e6))
    assert seen(memory, "Ada") == int(START.timestamp() * 1e6)


def test_code_that_states_a_relation_sees_it_and_its_ends(memory, home, tmp_path):
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "a.py").write_text("def callee():\n    pass\n\n\ndef caller():\n    callee()\n")
    app = app_of(memory)
    app.clock, now = lambda: START, app.clock
    memory.code.index(repo)
    memory.graph.reinforce("caller", "CALLS", "callee", kind="correct", amount=0.8)
    app.clock, then = now, to_micros(START)
    memory.code.index(repo)  # nothing changed, so nothing was read
    assert seen(memory, "callee") == then
    assert stored(memory)["caller", "callee"][::2] == (pytest.approx(0.2), then)
    (repo / "a.py").write_text("def callee():\n    pass\n\n\ndef caller():\n    return callee()\n")
    memory.code.index(repo)
    assert seen(memory, "callee") > then
    weight, _, last = stored(memory)["caller", "callee"]
    assert (weight, last > then) == (1.0, True)
