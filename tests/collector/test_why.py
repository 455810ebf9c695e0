"""Why something is kept: the memory, and the relations on the way; what did nothing is not in the log."""

import json

from memsweep.services.memory import Memory
from tests.support.engines import on_every_engine

pytestmark = on_every_engine


def test_the_memory_that_keeps_an_entity_alive_is_named(memory: Memory) -> None:
    ids = [memory.remember(f"Ada wrote note {n}.", entities=["Ada"]).memory_id for n in range(5)]
    verdict, _, _ = memory.sweep.explain(memory.graph.entities("Ada")[0][0].id)
    newest = ", ".join(ids[:1:-1])
    assert f"It is mentioned by 5 live memories: {newest} and 2 more." in verdict.because


def test_a_memory_that_states_something_of_it_is_named(memory: Memory) -> None:
    note = memory.remember("nothing that names it").memory_id
    memory.graph.relate("Boat", "LIES_IN", "Harbour", source=note)
    verdict, _, _ = memory.sweep.explain(memory.graph.entities("Harbour")[0][0].id)
    assert f"It is part of a fact that is stated by 1 live memory: {note}." in verdict.because


def test_the_relations_on_the_way_are_named(memory: Memory) -> None:
    """Facts without a source hold nothing themselves: an import brings them so."""
    memory.remember("Ada wrote it.", entities=["Ada"])
    things = [{"id": f"e{n}", "name": name, "type": "Concept"} for n, name in enumerate(("Ada", "Bob", "Boat"))]
    facts = [("e0", "KNOWS", "e1"), ("e1", "OWNS", "e2")]
    links = [{"id": f"r{n}", "source": s, "relation": r, "target": t} for n, (s, r, t) in enumerate(facts)]
    moment = "2026-01-01T00:00:00+00:00"
    dated = {"created_at": moment, "last_seen": moment}
    entities = [{**thing, **dated, "confidence": 1.0, "handed_in": False, "pinned": False} for thing in things]
    relations = [{**link, **dated, "weight": 1.0, "evidence": 1, "handed_in": False} for link in links]
    graph = json.loads(memory.graph.dump())
    graph |= {"entities": entities, "relations": relations}
    memory.graph.load(json.dumps(graph))
    verdict, path, _ = memory.sweep.explain(memory.graph.entities("Boat")[0][0].id)
    assert [step.name for step in path] == ["Boat", "Bob", "Ada"]
    assert "The way there: 'Bob OWNS Boat', 'Ada KNOWS Bob'." in verdict.because


def test_an_empty_plan_is_not_in_the_log(memory: Memory) -> None:
    memory.remember("something that stays")
    plan = memory.sweep.plan("expired")
    assert plan.item_count == 0
    assert [event for event in memory.sweep.audit() if event.action == "plan"] == []
