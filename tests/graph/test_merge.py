"""Several entities become one, are written to, and are taken apart: no edge and no mention is lost."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from memsweep.errors import BadInput, Conflict, NotFound
from memsweep.memory import Memory
from tests.support import looking
from tests.support.engines import on_every_engine

pytestmark = on_every_engine


def rows(memory: Memory, statement: str) -> list[Any]:
    with looking.into(memory) as db:
        return list(db.execute(statement))


def facts(memory: Memory) -> set[tuple[str, str, str]]:
    return set(
        rows(
            memory,
            "select s.name, r.relation, o.name from live_relation r join live_entity s on s.id = r.subject"
            " join live_entity o on o.id = r.object",
        )
    )


def mentions(memory: Memory) -> set[tuple[str, str]]:
    statement = (
        "select memory.text, live_entity.name from live_mention m join chunk on chunk.id = m.chunk"
        " join memory on memory.id = chunk.memory join live_entity on live_entity.id = m.entity"
    )
    return set(rows(memory, statement))


def dump(memory: Memory) -> list[Any]:
    """Everything that lives in the graph, but for the versions of relations that went there and back."""
    return [
        rows(memory, "select * from live_entity order by id"),
        rows(
            memory, "select id, subject, object, relation, weight, evidence, last_seen from live_relation order by id"
        ),
        rows(memory, "select * from live_mention order by chunk, entity"),
        rows(memory, "select * from relation_source order by relation, memory"),
        rows(memory, "select * from alias"),
    ]


@pytest.fixture
def people(memory: Memory) -> Memory:
    memory.add("Bob wrote the parser.", entities=[{"name": "Bob", "type": "Person"}])
    memory.add("Robert likes tea.", entities=[{"name": "Robert", "type": "Person"}])
    memory.add("Bob and Robert", entities=[{"name": "Bob", "type": "Person"}, {"name": "Robert", "type": "Person"}])
    memory.relate("Bob", "WROTE", "Parser", from_type="Person", weight=0.9)
    memory.relate("Robert", "WROTE", "Parser", from_type="Person", weight=0.4)
    memory.relate("Robert", "LIKES", "Tea", from_type="Person")
    memory.relate("Bob", "KNOWS", "Robert", from_type="Person", to_type="Person")
    return memory


def test_code_that_is_read_again_sees_its_entities_whatever_they_are_called(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "tree" / "birds.py"
    file.parent.mkdir()
    file.write_text("def heron(): ...\n\n\ndef egret(): ...\n")
    memory.index(str(file.parent))
    memory.merge_entities(["egret"], "heron")
    before = {entity.name: entity.last_seen for entity in memory.entities()[0]}
    file.write_text("def heron(): ...\n\n\ndef egret(): ...\n\n\nSEEN = 2\n")
    memory.index(str(file.parent))
    after = {entity.name: entity.last_seen for entity in memory.entities()[0]}
    assert after.keys() == before.keys()
    assert after["heron"] > before["heron"]


def test_a_look_moves_nothing_and_says_what_would(people: Memory) -> None:
    before = dump(people)
    seen = people.plan_merge(["Bob"], "Robert")
    assert (seen.name, seen.merged, seen.mentions, seen.relations) == ("Robert", ("Bob",), 2, 2)
    assert dump(people) == before
    done = people.merge_entities(plan_id=seen.plan_id)
    assert (done.mentions, done.relations, done.joined) == (2, 2, 1)
    with pytest.raises(Conflict, match="applied already"):
        people.merge_entities(plan_id=seen.plan_id)


def test_one_entity_has_everything_and_both_names(people: Memory) -> None:
    people.merge_entities(["Bob"], "Robert")
    assert facts(people) == {("Robert", "WROTE", "Parser"), ("Robert", "LIKES", "Tea")}
    weights = rows(people, "select weight from live_relation where relation = 'WROTE'")
    assert weights[0][0] == pytest.approx(0.9, abs=1e-3)  # the stronger of the two
    assert {name for _, name in mentions(people)} == {"Robert"}
    assert len(mentions(people)) == 3
    assert people.related("bob").start.name == "Robert"
    assert [entity.name for entity in people.entities("bob")[0]] == ["Robert"]
    people.relate("BOB", "OWNS", "Boat", from_type="Person")
    people.add("More about Bob.", entities=[{"name": "Bob", "type": "Person"}])
    assert ("Robert", "OWNS", "Boat") in facts(people)
    assert ("More about Bob.", "Robert") in mentions(people)
    assert people.doctor().findings == ()


def test_a_merge_undone_at_once_is_as_if_it_had_not_been(people: Memory) -> None:
    before = dump(people)
    receipt = people.merge_entities(["Bob"], "Robert").receipt_id
    people.undo(receipt)
    assert dump(people) == before
    assert people.doctor().findings == ()
    with pytest.raises(Conflict, match="undone already"):
        people.undo(receipt)


def test_a_merge_is_taken_apart_after_later_writes_and_loses_nothing(people: Memory) -> None:
    before, said = facts(people), mentions(people)
    receipt = people.merge_entities(["Bob"], "Robert").receipt_id
    people.relate("Bob", "OWNS", "Boat", from_type="Person")
    people.relate("Robert", "WROTE", "Parser", from_type="Person", weight=1.0)
    people.add("Later words about Bob.", entities=[{"name": "Bob", "type": "Person"}])
    people.undo(receipt)
    assert facts(people) == before | {("Robert", "OWNS", "Boat")}  # what came later stays with the one kept
    assert mentions(people) == said | {("Later words about Bob.", "Robert")}
    weights = dict(
        rows(
            people, "select s.name, weight from live_relation join entity s on s.id = subject where relation = 'WROTE'"
        )
    )
    assert weights["Robert"] == pytest.approx(1.0, abs=1e-3)
    boat = rows(people, "select uid from live_relation where relation = 'OWNS'")[0][0]
    later = rows(people, "select uid from memory where text like 'Later%'")[0][0]
    robert = people.related("Robert").start.id
    with pytest.raises(Conflict, match="exists already"):
        people.unmerge_entity(robert, "Bob", relations=[boat])
    split = people.unmerge_entity(robert, "Bobby", relations=[boat], memories=[later])
    assert (split.relations, split.mentions) == (1, 1)
    assert facts(people) == before | {("Bobby", "OWNS", "Boat")}
    assert mentions(people) == said | {("Later words about Bob.", "Bobby")}
    assert people.doctor().findings == ()


def test_memories_that_went_to_the_trash_meanwhile_come_back_whole(people: Memory) -> None:
    before, said = facts(people), mentions(people)
    memory_id = rows(people, "select uid from memory where text = 'Bob wrote the parser.'")[0][0]
    merged = people.merge_entities(["Bob"], "Robert").receipt_id
    deleted = people.delete(memory_id, confirm=True).id
    people.undo(merged)
    assert facts(people) == before
    assert mentions(people) == {each for each in said if each[0] != "Bob wrote the parser."}
    people.undo(deleted)
    assert (facts(people), mentions(people)) == (before, said)


def test_a_chain_of_merges_is_taken_apart_from_its_end(people: Memory) -> None:
    people.relate("Rob", "LIKES", "Rum", from_type="Person")
    before, said = facts(people), mentions(people)
    first = people.merge_entities(["Bob"], "Robert").receipt_id
    second = people.merge_entities(["Robert"], "Rob").receipt_id
    assert people.related("bob").start.name == "Rob"
    with pytest.raises(Conflict, match=f"Undo {second} first"):
        people.undo(first)
    for receipt in (second, first):
        people.undo(receipt)
    assert (facts(people), mentions(people)) == (before, said)


def test_a_purge_makes_it_final_and_keeps_the_names(people: Memory) -> None:
    receipt = people.merge_entities(["Bob"], "Robert").receipt_id
    people.purge(0, confirm=True)
    assert people.related("Bob").start.name == "Robert"
    assert rows(people, "select * from merge_move") == []
    with pytest.raises(Conflict, match="purged"):
        people.undo(receipt)
    assert people.doctor().findings == ()


def test_what_cannot_be_merged_is_refused_and_nothing_changes(people: Memory) -> None:
    before = dump(people)
    with pytest.raises(BadInput):
        people.merge_entities(["Bob"], "Bob")
    with pytest.raises(BadInput):
        people.merge_entities([], "Bob")
    with pytest.raises(NotFound, match="Nobody"):
        people.merge_entities(["Nobody"], "Bob")
    with pytest.raises(BadInput, match="not about"):
        people.unmerge_entity("Bob", "Bobby", relations=["rel_none"])
    with pytest.raises(BadInput, match="nothing"):
        people.unmerge_entity("Bob", "Bobby")
    plan = people.plan_merge(["Bob"], "Robert")
    with pytest.raises(Conflict, match="merges entities"):
        people.apply_plan(plan.plan_id, confirm=True)
    assert dump(people) == before
    people.relate("Bob", "LIKES", "Beer", from_type="Person")
    with pytest.raises(Conflict, match="changed since"):
        people.merge_entities(plan_id=plan.plan_id)
    with pytest.raises(Conflict, match="merges nothing"):
        people.merge_entities(plan_id=people.plan_prune("orphaned_entities").id)


@pytest.mark.parametrize("seed", range(12))
def test_any_merges_undone_backwards_give_everything_back(memory: Memory, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"E{n}" for n in range(6)]
    for n in range(5):
        memory.add(f"Note {n}", entities=chance.sample(names, 3))
    for _ in range(12):
        left, right = chance.sample(names, 2)
        memory.relate(left, chance.choice(["KNOWS", "LIKES"]), right, weight=chance.random())
    before = dump(memory)
    receipts = []
    alive = [entity.name for entity in memory.entities(limit=50)[0]]
    while len(alive) > 2:
        gone = chance.sample(alive, chance.randint(1, len(alive) - 1))
        kept = chance.choice([name for name in alive if name not in gone])
        receipts.append(memory.merge_entities(gone, kept).receipt_id)
        alive = [name for name in alive if name not in gone]
    for receipt in reversed(receipts):
        memory.undo(receipt)
    assert dump(memory) == before


@pytest.mark.parametrize("format", ["json", "graphml", "cytoscape", "cypher"])
def test_other_names_go_along_when_a_graph_is_carried_away(people: Memory, format: str) -> None:
    people.merge_entities(["Bob"], "Robert")
    written = people.dump_graph(format)
    elsewhere = people._app.memory("elsewhere")
    elsewhere.load_graph(written, format)
    assert elsewhere.dump_graph(format) == written
    assert elsewhere.related("bob").start.name == "Robert"
