"""What merges, splits and retractions wrote down of a text follows it, through updates and their undos."""

from itertools import permutations

import pytest

from memsweep.app import Memory, called_by
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.errors import Conflict
from memsweep.model.origin import Origin
from tests.support import contents
from tests.support.engines import on_every_engine

pytestmark = on_every_engine
EVIL = Origin("mcp", "cursor", "1.0", "ses_evil", "add_memory", "agent")
TEXT = "In the evening Dan Quill plays the cello."
OTHER = "In the morning Dan Quill plays the viola."


@pytest.fixture
def dan(memory: Memory) -> str:
    memory.remember("In spring Hal Reed tunes the pianos of Ida Moss.", entities=["Hal Reed", "Ida Moss"])
    return memory.remember(TEXT, entities=["Dan Quill", "Ida Moss"]).memory_id


def mentioned(memory: Memory, memory_id: str) -> set[str]:
    return {entity.name for entity in memory.get(memory_id).entities}


def sound(memory: Memory) -> bool:
    return memory.care.doctor().findings == ()


def merge(memory: Memory) -> str:
    return str(memory.graph.merge(["Dan Quill"], "Hal Reed").receipt_id)


def update(memory: Memory, dan: str) -> str:
    return str(memory.update(dan, text=OTHER).receipt_id)


@pytest.mark.parametrize("merges_first", [True, False])
@pytest.mark.parametrize("order", [*permutations(["merge", "update"])])
def test_a_merge_and_an_update_are_undone_in_any_order(
    memory: Memory, dan: str, order: tuple[str, str], merges_first: bool
) -> None:
    steps = {"merge": lambda: merge(memory), "update": lambda: update(memory, dan)}
    receipts = {name: steps[name]() for name in sorted(steps, reverse=not merges_first)}
    for name in order:
        memory.sweep.undo(receipts[name])
        assert sound(memory)
    assert memory.get(dan).text == TEXT
    assert mentioned(memory, dan) == {"Dan Quill", "Ida Moss"}
    memory.sweep.plan("all")
    assert "Dan Quill" in contents.names(memory)


def test_an_update_that_is_undone_and_done_again_leaves_the_merge_its_notes(memory: Memory, dan: str) -> None:
    merged, updated = merge(memory), update(memory, dan)
    for _ in range(3):
        updated = str(memory.sweep.undo(updated).receipt_id)
    assert memory.get(dan).text == TEXT
    memory.sweep.undo(merged)
    assert mentioned(memory, dan) == {"Dan Quill", "Ida Moss"}
    assert sound(memory)


def test_what_waits_in_a_revision_is_found_after_a_compaction(memory: Memory, dan: str) -> None:
    memory.remember("At noon Una Park sings.", entities=["Una Park"])
    another = str(memory.graph.merge(["Una Park"], "Ida Moss").receipt_id)
    merged, updated = merge(memory), update(memory, dan)
    memory.sweep.undo(another)  # what it had written down leaves a gap
    memory.care.compact()
    memory.sweep.undo(updated)
    memory.sweep.undo(merged)
    assert mentioned(memory, dan) == {"Dan Quill", "Ida Moss"}
    assert sound(memory)


def test_a_chain_of_merges_is_taken_apart_after_an_update_that_is_older(memory: Memory, dan: str) -> None:
    updated = update(memory, dan)
    first = merge(memory)
    second = str(memory.graph.merge(["Hal Reed"], "Ida Moss").receipt_id)
    memory.sweep.undo(updated)
    assert mentioned(memory, dan) == {"Ida Moss"}
    memory.sweep.undo(second)
    assert mentioned(memory, dan) == {"Hal Reed", "Ida Moss"}
    memory.sweep.undo(first)
    assert mentioned(memory, dan) == {"Dan Quill", "Ida Moss"}
    assert sound(memory)


def test_a_split_follows_a_text_through_an_update_and_back(memory: Memory, dan: str) -> None:
    split = str(memory.graph.unmerge("Dan Quill", "Dan the younger", memories=[dan]).receipt_id)
    memory.sweep.undo(update(memory, dan))
    assert mentioned(memory, dan) == {"Dan the younger", "Ida Moss"}
    memory.sweep.undo(split)
    assert mentioned(memory, dan) == {"Dan Quill", "Ida Moss"}
    assert sound(memory)


@pytest.mark.parametrize("order", [*permutations(["update", "origin"])])
def test_what_was_taken_back_of_a_text_follows_it(memory: Memory, dan: str, order: tuple[str, str]) -> None:
    with called_by(EVIL):
        memory.remember(TEXT, entities=["Una Park"])
    receipts = {"origin": memory.sweep.prune("origin", origin={"session": EVIL.session}, confirm=True).id}
    receipts["update"] = update(memory, dan)
    for name in order:
        memory.sweep.undo(receipts[name])
    assert mentioned(memory, dan) == {"Dan Quill", "Ida Moss", "Una Park"}
    assert sound(memory)


def test_texts_that_came_since_a_merge_mention_what_they_name(memory: Memory, dan: str) -> None:
    merged = merge(memory)
    new = {name: memory.remember(f"It was known that {name} sings.").memory_id for name in ("Dan Quill", "Hal Reed")}
    both = memory.remember("It was known that Dan Quill met Hal Reed.").memory_id
    other = memory.remember("Nobody sings.", entities=["Dan Quill"]).memory_id
    memory.update(dan, text=OTHER)
    conflicts = dict(memory.sweep.undo(merged).conflicts)
    assert {name: mentioned(memory, uid) for name, uid in new.items()} == {name: {name} for name in new}
    assert mentioned(memory, both) == {"Dan Quill", "Hal Reed"}
    assert mentioned(memory, dan) == {"Dan Quill"}
    assert mentioned(memory, other) == {"Hal Reed"}
    assert "stays with" in conflicts.pop(other)
    assert conflicts == {}
    assert sound(memory)


def test_facts_that_came_since_a_merge_are_counted(memory: Memory, dan: str) -> None:
    memory.graph.relate("Dan Quill", "OWNS", "Steinway", weight=0.5)
    memory.graph.relate("Hal Reed", "OWNS", "Steinway", weight=0.3)
    merged = merge(memory)
    memory.graph.relate("Dan Quill", "OWNS", "Viola")
    memory.graph.reinforce("Dan Quill", "OWNS", "Steinway", kind="correct", amount=0.1)
    said = [why for _, why in memory.sweep.undo(merged).conflicts]
    assert said == ["it was changed since the merge, and stays as it is",
                    "1 fact that came since the merge stays with it"]  # fmt: skip


def test_a_text_that_came_while_a_name_was_in_the_trash_is_told_when_it_is_back(memory: Memory) -> None:
    memory.graph.relate_many({"entities": [{"name": "Dunning"}]})
    cleared = memory.sweep.clear(CLEAR_PHRASE).id
    text = memory.remember("Dunning was about it.").memory_id
    assert mentioned(memory, text) == set(), "the first word of a sentence proves nothing"
    ((uid, why),) = memory.sweep.undo(cleared).conflicts
    assert (uid, why.endswith("and does not mention it")) == (text, True)
    memory.update(text, text="It was about Dunning.")
    assert mentioned(memory, text) == {"Dunning"}
    assert sound(memory)


def test_a_name_that_another_has_by_now_is_told(memory: Memory) -> None:
    memory.remember("We met Dan Quill.", entities=[{"name": "Dan Quill", "type": "Person"}])
    cleared = memory.sweep.clear(CLEAR_PHRASE).id
    memory.graph.relate("Dan Quill", "OWNS", "Viola")
    ((_, why),) = memory.sweep.undo(cleared).conflicts
    assert why.endswith("has its name by now; merge the two if they are one")


def test_what_an_update_withdrew_stays_withdrawn_when_a_clear_is_undone(memory: Memory, dan: str) -> None:
    fact = {"from": "Dan Quill", "relation": "KNOWS", "to": "Ida Moss"}
    memory.remember("At noon Dan Quill knows Ida Moss.", relations=[fact])
    own = next(each.id for each in contents.listed(memory) if each.text.startswith("At noon"))
    updated = str(memory.update(own, text="At noon it rains.").receipt_id)
    cleared = memory.sweep.clear(CLEAR_PHRASE).id
    with pytest.raises(Conflict, match="in the trash"):
        memory.sweep.undo(updated)
    memory.sweep.undo(cleared)
    assert contents.facts(memory) == {}
    memory.sweep.undo(updated)
    assert set(contents.facts(memory)) == {("Dan Quill", "KNOWS", "Ida Moss")}
