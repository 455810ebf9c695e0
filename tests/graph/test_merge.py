"""Several entities become one, are written to, and are taken apart: no edge and no mention is lost."""

import random
from pathlib import Path
from typing import Any

import pytest

from memsweep.errors import BadInput, Conflict, NotFound
from memsweep.report.collector import undone
from memsweep.report.graph import merged
from memsweep.services.memory import Memory
from tests.support import contents, store_files
from tests.support.counts import rounds
from tests.support.engines import on_every_engine
from tests.support.inside import app_of, dump_of

pytestmark = on_every_engine


def facts(memory: Memory) -> set[tuple[str, str, str]]:
    return set(contents.facts(memory))


def mentions(memory: Memory) -> set[tuple[str, str]]:
    found = [memory.get(memory_id) for memory_id in contents.ids(memory)]
    return {(each.text, entity.name) for each in found for entity in each.entities}


def dump(memory: Memory) -> list[Any]:
    """Everything that lives in the graph, other names and who states what included."""
    return [dump_of(memory), mentions(memory), store_files.rows_of(memory)["relation_source"]]


def id_of(memory: Memory, text: str) -> str:
    (found,) = (each.id for each in contents.listed(memory) if each.text == text)
    return found


@pytest.fixture
def people(memory: Memory) -> Memory:
    memory.remember("Bob wrote the parser.", entities=[{"name": "Bob", "type": "Person"}])
    memory.remember("Robert likes tea.", entities=[{"name": "Robert", "type": "Person"}])
    memory.remember(
        "Bob and Robert", entities=[{"name": "Bob", "type": "Person"}, {"name": "Robert", "type": "Person"}]
    )
    memory.graph.relate("Bob", "WROTE", "Parser", from_type="Person", weight=0.9)
    memory.graph.relate("Robert", "WROTE", "Parser", from_type="Person", weight=0.4)
    memory.graph.relate("Robert", "LIKES", "Tea", from_type="Person")
    memory.graph.relate("Bob", "KNOWS", "Robert", from_type="Person", to_type="Person")
    return memory


def test_code_that_is_read_again_sees_its_entities_whatever_they_are_called(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "tree" / "birds.py"
    file.parent.mkdir()
    file.write_text("def heron(): ...\n\n\ndef egret(): ...\n")
    memory.code.index(str(file.parent))
    memory.graph.merge(["egret"], "heron")
    before = {entity.name: entity.last_seen for entity in memory.graph.entities()[0]}
    file.write_text("def heron(): ...\n\n\ndef egret(): ...\n\n\nSEEN = 2\n")
    memory.code.index(str(file.parent))
    after = {entity.name: entity.last_seen for entity in memory.graph.entities()[0]}
    assert after.keys() == before.keys()
    assert after["heron"] > before["heron"]


def test_a_look_moves_nothing_and_says_what_would(people: Memory) -> None:
    before = dump(people)
    seen = people.graph.plan_merge(["Bob"], "Robert")
    assert (seen.name, seen.merged, seen.mentions, seen.relations) == ("Robert", ("Bob",), 2, 2)
    assert dump(people) == before
    done = people.graph.merge(plan_id=seen.plan_id)
    assert (done.mentions, done.relations, done.joined) == (2, 2, 1)
    with pytest.raises(Conflict, match="applied already"):
        people.graph.merge(plan_id=seen.plan_id)


def test_a_look_counts_what_the_merge_moves_and_joins(people: Memory) -> None:
    """Also between two that go, beside what is in the trash, and where both say the same."""
    gone = people.remember("Rob and Bob again", entities=[{"name": "Bob", "type": "Person"}]).memory_id
    people.graph.relate("Bob", "KNOWS", "Rob", from_type="Person", to_type="Person")
    people.graph.relate("Rob", "WROTE", "Parser", from_type="Person", weight=0.05)
    people.delete(gone, confirm=True)
    people.graph.prune(edge_threshold=0.2, confirm=True, allow_large=True)
    people.graph.relate("Rob", "LIKES", "Tea", from_type="Person")
    seen = people.graph.plan_merge(["Bob", "Rob"], "Robert")
    told = merged(seen, dry_run=True)
    done = people.graph.merge(plan_id=seen.plan_id)
    assert (seen.mentions, seen.relations, seen.joined) == (done.mentions, done.relations, done.joined) == (2, 4, 2)
    assert told["relations_joined"] == 2
    assert told["message"].startswith("Would merge 'Bob' and 'Rob' into 'Robert', with 2 mentions and 4 relations")


def test_undoing_a_merge_counts_the_relations_that_go_back(people: Memory) -> None:
    people.graph.relate("Bob", "LIKES", "Beer", from_type="Person")
    done = people.graph.merge(["Bob"], "Robert")
    back = people.sweep.undo(done.receipt_id)
    assert (back.totals.entities, back.totals.relations) == (1, done.relations)
    assert undone(back)["message"] == "Restored 1 entity and 3 relations."


def test_one_entity_has_everything_and_both_names(people: Memory) -> None:
    people.graph.merge(["Bob"], "Robert")
    assert facts(people) == {("Robert", "WROTE", "Parser"), ("Robert", "LIKES", "Tea")}
    weights = contents.facts(people)
    assert weights["Robert", "WROTE", "Parser"] == pytest.approx(0.9, abs=1e-3)  # the stronger of the two
    assert {name for _, name in mentions(people)} == {"Robert"}
    assert len(mentions(people)) == 3
    assert people.graph.related("bob").start.name == "Robert"
    assert [entity.name for entity in people.graph.entities("bob")[0]] == ["Robert"]
    people.graph.relate("BOB", "OWNS", "Boat", from_type="Person")
    people.remember("More about Bob.", entities=[{"name": "Bob", "type": "Person"}])
    assert ("Robert", "OWNS", "Boat") in facts(people)
    assert ("More about Bob.", "Robert") in mentions(people)
    assert people.care.doctor().findings == ()


def test_a_merge_is_taken_apart_after_later_writes_and_loses_nothing(people: Memory) -> None:
    before, said = facts(people), mentions(people)
    receipt = people.graph.merge(["Bob"], "Robert").receipt_id
    people.graph.relate("Bob", "OWNS", "Boat", from_type="Person")
    people.graph.relate("Robert", "WROTE", "Parser", from_type="Person", weight=1.0)
    people.remember("Later words about Bob.", entities=[{"name": "Bob", "type": "Person"}])
    conflicts = people.sweep.undo(receipt).conflicts
    robert = people.graph.related("Robert").start.id
    assert (robert, "1 fact that came since the merge stays with it") in conflicts
    assert facts(people) == before | {("Robert", "OWNS", "Boat")}
    assert mentions(people) == said | {("Later words about Bob.", "Bob")}  # whom it names
    assert contents.facts(people)["Robert", "WROTE", "Parser"] == pytest.approx(1.0, abs=1e-3)
    (boat,) = (fact.id for fact in dump_of(people).relations if fact.relation == "OWNS")
    later = id_of(people, "Later words about Bob.")
    with pytest.raises(Conflict, match="exists already"):
        people.graph.unmerge(robert, "Bob", relations=[boat])
    split = people.graph.unmerge(robert, "Bobby", relations=[boat], memories=[later])
    assert (split.relations, split.mentions) == (1, 0)
    assert facts(people) == before | {("Bobby", "OWNS", "Boat")}
    assert people.care.doctor().findings == ()


def test_memories_that_went_to_the_trash_meanwhile_come_back_whole(people: Memory) -> None:
    before, said = facts(people), mentions(people)
    memory_id = id_of(people, "Bob wrote the parser.")
    merged = people.graph.merge(["Bob"], "Robert").receipt_id
    deleted = people.delete(memory_id, confirm=True).id
    people.sweep.undo(merged)
    assert facts(people) == before
    assert mentions(people) == {each for each in said if each[0] != "Bob wrote the parser."}
    people.sweep.undo(deleted)
    assert (facts(people), mentions(people)) == (before, said)


def test_a_chain_of_merges_is_taken_apart_from_its_end(people: Memory) -> None:
    people.graph.relate("Rob", "LIKES", "Rum", from_type="Person")
    before, said = facts(people), mentions(people)
    first = people.graph.merge(["Bob"], "Robert").receipt_id
    second = people.graph.merge(["Robert"], "Rob").receipt_id
    assert people.graph.related("bob").start.name == "Rob"
    with pytest.raises(Conflict, match=f"Undo {second} first"):
        people.sweep.undo(first)
    for receipt in (second, first):
        people.sweep.undo(receipt)
    assert (facts(people), mentions(people)) == (before, said)


def test_a_purge_makes_it_final_and_keeps_the_names(people: Memory) -> None:
    receipt = people.graph.merge(["Bob"], "Robert").receipt_id
    people.sweep.purge(0, confirm=True)
    assert people.graph.related("Bob").start.name == "Robert"
    assert store_files.rows_of(people)["merge_move"] == []
    with pytest.raises(Conflict, match="purged"):
        people.sweep.undo(receipt)
    assert people.care.doctor().findings == ()


def test_what_cannot_be_merged_is_refused_and_nothing_changes(people: Memory) -> None:
    before = dump(people)
    with pytest.raises(BadInput):
        people.graph.merge(["Bob"], "Bob")
    with pytest.raises(BadInput):
        people.graph.merge([], "Bob")
    with pytest.raises(NotFound, match="Nobody"):
        people.graph.merge(["Nobody"], "Bob")
    with pytest.raises(BadInput, match="not about"):
        people.graph.unmerge("Bob", "Bobby", relations=["rel_none"])
    with pytest.raises(BadInput, match="nothing"):
        people.graph.unmerge("Bob", "Bobby")
    plan = people.graph.plan_merge(["Bob"], "Robert")
    with pytest.raises(Conflict, match="merges entities"):
        people.sweep.apply(plan.plan_id, confirm=True)
    assert dump(people) == before
    people.graph.relate("Bob", "LIKES", "Beer", from_type="Person")
    with pytest.raises(Conflict, match="changed since"):
        people.graph.merge(plan_id=plan.plan_id)
    with pytest.raises(Conflict, match="merges nothing"):
        people.graph.merge(plan_id=people.sweep.plan("orphaned_entities").id)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(rounds(4, 12)))
def test_any_merges_undone_backwards_give_everything_back(memory: Memory, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"E{n}" for n in range(6)]
    for n in range(5):
        memory.remember(f"Note {n}", entities=chance.sample(names, 3))
    for _ in range(12):
        left, right = chance.sample(names, 2)
        memory.graph.relate(left, chance.choice(["KNOWS", "LIKES"]), right, weight=chance.random())
    before = dump(memory)
    receipts = []
    alive = [entity.name for entity in memory.graph.entities(limit=50)[0]]
    while len(alive) > 2:
        gone = chance.sample(alive, chance.randint(1, len(alive) - 1))
        kept = chance.choice([name for name in alive if name not in gone])
        receipts.append(memory.graph.merge(gone, kept).receipt_id)
        alive = [name for name in alive if name not in gone]
    for receipt in reversed(receipts):
        memory.sweep.undo(receipt)
    assert dump(memory) == before


@pytest.mark.parametrize("format", ["json", "graphml", "cytoscape", "cypher"])
def test_other_names_go_along_when_a_graph_is_carried_away(people: Memory, format: str) -> None:
    people.graph.merge(["Bob"], "Robert")
    written = people.graph.dump(format)
    elsewhere = app_of(people).memory("elsewhere")
    elsewhere.graph.load(written, format)
    assert elsewhere.graph.dump(format) == written
    assert elsewhere.graph.related("bob").start.name == "Robert"


def test_undoing_a_merge_does_not_bring_back_a_mention_that_was_split_off_before_it(memory: Memory) -> None:
    memory_id = memory.remember("Alan met Kurt.", entities=["Alan Turing", "Kurt Gödel"]).memory_id
    memory.graph.merge(["Kurt Gödel"], "Alan Turing")
    memory.graph.unmerge("Alan Turing", "Part", memories=[memory_id])
    before = {each.name: each.mentions for each in memory.graph.entities()[0]}
    assert before == {"Alan Turing": 0, "Part": 1}
    merged = memory.graph.merge(["Part"], "Alan Turing")
    memory.sweep.undo(merged.receipt_id)
    assert {each.name: each.mentions for each in memory.graph.entities()[0]} == before
