"""Updating a memory in place: what is found, what comes back, and what stands in the way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, Memory, called_by
from memsweep.errors import BadInput, Conflict, MemsweepError, NotFound
from memsweep.model.origin import Origin
from tests.secrets.test_ways_in import AWS
from tests.support.commands import Ran
from tests.support.engines import on_every_engine

pytestmark = on_every_engine
GOOD = Origin("mcp", "claude-code", "2.1", "ses_good", "add_memory", "agent")
EVIL = Origin("mcp", "cursor", "1.0", "ses_evil", "update_memory", "agent")
OLD = "Ada Lovelace works on the Engine in Turin."
NEW = "Ada Lovelace writes letters to Babbage."


@pytest.fixture
def ada(memory: Memory) -> str:
    return memory.remember(
        OLD,
        tags=["people", "old"],
        metadata={"n": 1},
        entities=["Ada Lovelace", "Engine"],
        relations=[{"from": "Ada Lovelace", "relation": "WORKS_ON", "to": "Engine"}],
    ).memory_id


def everything(memory: Memory, memory_id: str) -> dict[str, Any]:
    """All that people see of a memory, but for its version, which never comes back."""
    found = memory.get(memory_id)
    return {
        "memory": (found.text, found.tags, found.metadata, found.updated_at, found.created_at, found.chunk_count),
        "entities": sorted(thing.name for thing in found.entities),
        "graph": json.loads(memory.graph.dump("json")),
        "hits": [(hit.passage.memory_id, hit.passage.text) for hit in memory.search("Engine in Turin").hits],
        "stats": memory.stats().total_chunks,
    }


def sound(memory: Memory) -> bool:
    findings = memory.care.doctor().findings
    assert findings == ()
    return True


def texts(memory: Memory, query: str) -> list[str]:
    return [hit.passage.text for hit in memory.search(query).hits]


def facts(memory: Memory) -> list[str]:
    return [relation["relation"] for relation in json.loads(memory.graph.dump("json"))["relations"]]


def receipt_of(memory: Memory, memory_id: str, **change: Any) -> str:
    receipt = memory.update(memory_id, **change).receipt_id
    assert receipt is not None
    return receipt


def test_a_memory_changes_and_keeps_its_id(memory: Memory, ada: str) -> None:
    before = memory.get(ada)
    updated = memory.update(ada, text=NEW)
    found = memory.get(ada)
    assert (found.text, found.tags, found.metadata) == (NEW, ("people", "old"), {"n": 1})
    assert (found.created_at, found.revisions) == (before.created_at, 1)
    assert updated.version == found.version == before.version + 1
    assert texts(memory, "letters to Babbage") == [NEW]
    assert OLD not in texts(memory, "Engine in Turin")
    assert sound(memory)


def test_undo_brings_back_what_was_there(memory: Memory, ada: str) -> None:
    before = everything(memory, ada)
    receipt = receipt_of(memory, ada, text=NEW, tags=["new"], metadata={"n": 2})
    assert facts(memory) == []
    undone = memory.sweep.undo(receipt)
    assert (undone.totals.memories, undone.conflicts) == (1, ())
    after = everything(memory, ada)
    assert after["memory"] == before["memory"]
    assert after["hits"] == before["hits"]
    assert set(before["entities"]) <= set(after["entities"])
    assert after["graph"]["relations"] == before["graph"]["relations"]
    assert sound(memory)


def test_the_undo_can_be_undone(memory: Memory, ada: str) -> None:
    undone = memory.sweep.undo(receipt_of(memory, ada, text=NEW, tags=["new"]))
    assert undone.receipt_id is not None
    memory.sweep.undo(undone.receipt_id)
    found = memory.get(ada)
    assert (found.text, found.tags, found.revisions) == (NEW, ("new",), 1)
    assert texts(memory, "letters to Babbage") == [NEW]
    assert sound(memory)


def test_tags_and_metadata_change_alone(memory: Memory, ada: str) -> None:
    receipt = receipt_of(memory, ada, tags=["a"], metadata={})
    found = memory.get(ada)
    assert (found.text, found.tags, found.metadata) == (OLD, ("a",), {})
    assert memory.search("Engine", filters={"tags": ["people"]}).hits == ()
    assert len(memory.search("Engine", filters={"tags": ["a"]}).hits) == 1
    assert facts(memory) == ["WORKS_ON"]
    memory.sweep.undo(receipt)
    assert memory.get(ada).tags == ("people", "old")
    assert sound(memory)


def test_the_same_again_is_nothing_to_do(memory: Memory, ada: str) -> None:
    version = memory.get(ada).version
    assert memory.update(ada, text=OLD, tags=["people", "old"]).receipt_id is None
    assert memory.get(ada).version == version
    assert [event.action for event in memory.sweep.audit() if event.action == "update"] == []


def test_it_is_in_the_audit_log(memory: Memory, ada: str) -> None:
    receipt = receipt_of(memory, ada, text=NEW)
    (event,) = [event for event in memory.sweep.audit() if event.action == "update"]
    assert (event.subject, event.counts["memories"]) == (receipt, 1)
    assert ada in event.ids
    assert NEW not in repr(event)
    assert "update" in [event.action for event in memory.sweep.explain(ada)[2]]


def test_of_two_updates_the_last_is_undone_first(memory: Memory, ada: str) -> None:
    first = receipt_of(memory, ada, text="The second text.")
    second = receipt_of(memory, ada, text="The third text.")
    assert [each.text for each in memory.history(ada)] == ["The second text.", OLD]
    with pytest.raises(Conflict, match=f"changed again; undo {second} first"):
        memory.sweep.undo(first)
    assert memory.get(ada).text == "The third text."
    memory.sweep.undo(second)
    assert memory.get(ada).text == "The second text."
    memory.sweep.undo(first)
    assert memory.get(ada).text == OLD
    assert facts(memory) == ["WORKS_ON"]
    assert sound(memory)


def test_an_update_that_was_undone_comes_back_only_where_it_was(memory: Memory, ada: str) -> None:
    undone = memory.sweep.undo(receipt_of(memory, ada, text=NEW))
    assert undone.receipt_id is not None
    later = receipt_of(memory, ada, text="Something else.")
    with pytest.raises(Conflict, match=f"undo {later} first"):
        memory.sweep.undo(undone.receipt_id)


def test_tags_that_came_later_stay(memory: Memory, ada: str) -> None:
    receipt = receipt_of(memory, ada, text=NEW)
    memory.remember(NEW, tags=["later"])
    memory.pin(ada)
    memory.sweep.undo(receipt)
    assert (memory.get(ada).text, memory.get(ada).tags) == (OLD, ("people", "old", "later"))
    assert memory.get(ada).pinned


def test_a_deleted_memory_comes_back_as_it_was_updated(memory: Memory, ada: str) -> None:
    update = receipt_of(memory, ada, text=NEW)
    deletion = memory.delete(ada, confirm=True).id
    with pytest.raises(Conflict, match=f"in the trash; undo {deletion} first"):
        memory.sweep.undo(update)
    memory.sweep.undo(deletion)
    assert memory.get(ada).text == NEW
    memory.sweep.undo(update)
    assert memory.get(ada).text == OLD
    assert sound(memory)


def test_what_was_collected_meanwhile_comes_back_with_the_text(memory: Memory) -> None:
    kept = memory.remember("Alan Turing met Grace Hopper.", entities=["Alan Turing", "Grace Hopper"]).memory_id
    update = receipt_of(memory, kept, text="Nobody met anybody.")
    pruned = memory.sweep.prune("orphaned_entities", confirm=True)
    memory.sweep.undo(update)
    assert {"Alan Turing", "Grace Hopper"} <= {thing.name for thing in memory.get(kept).entities}
    memory.sweep.undo(pruned.id)
    assert sound(memory)


def test_entities_that_were_merged_meanwhile_are_the_one_that_was_kept(memory: Memory) -> None:
    kept = memory.remember("A. Turing met Grace Hopper.", entities=["A. Turing", "Grace Hopper"]).memory_id
    memory.remember("Alan Turing ran.", entities=["Alan Turing"])
    update = receipt_of(memory, kept, text="Nobody met anybody.")
    merged = memory.graph.merge(["A. Turing"], "Alan Turing")
    memory.sweep.undo(update)
    assert {"Alan Turing", "Grace Hopper"} <= {thing.name for thing in memory.get(kept).entities}
    assert sound(memory)
    memory.sweep.undo(merged.receipt_id)
    assert sound(memory)


def test_a_fact_goes_with_the_name_that_a_merge_took(memory: Memory, ada: str) -> None:
    """The text calls it by its old name, also while it is another one."""
    memory.remember("It is one of a kind.", entities=["Machine"])
    merged = str(memory.graph.merge(["Engine"], "Machine").receipt_id)
    assert memory.update(ada, text="Ada Lovelace lives in Turin.").withdrawn == ("Ada Lovelace WORKS_ON Machine",)
    assert facts(memory) == []
    memory.sweep.undo(merged)
    assert facts(memory) == []
    assert sound(memory)


def test_a_purge_frees_what_it_was(memory: Memory, ada: str) -> None:
    receipt = receipt_of(memory, ada, text=NEW)
    purged = memory.sweep.purge(0, confirm=True)
    assert purged.revisions == 1
    assert memory.history(ada) == []
    assert memory.get(ada).revisions == 0
    with pytest.raises(Conflict, match="was purged"):
        memory.sweep.undo(receipt)
    assert memory.get(ada).text == NEW
    assert sound(memory)


def test_what_is_deleted_forever_leaves_no_earlier_text(memory: Memory, ada: str) -> None:
    receipt = receipt_of(memory, ada, text=NEW)
    memory.delete(ada, confirm=True, forever=True)
    with pytest.raises(Conflict, match="deleted for good"):
        memory.sweep.undo(receipt)
    assert (facts(memory), memory.stats().total_memories) == ([], 0)
    assert memory.sweep.purge(0, confirm=True).revisions == 0
    assert sound(memory)


def test_a_text_that_was_added_again_meanwhile_stays_alone(memory: Memory, ada: str) -> None:
    receipt = receipt_of(memory, ada, text=NEW)
    twin = memory.remember(OLD).memory_id
    assert twin != ada
    with pytest.raises(Conflict, match=f"added again as {twin}"):
        memory.sweep.undo(receipt)
    assert memory.get(ada).text == NEW


def test_a_text_that_another_memory_has_is_refused(memory: Memory, ada: str) -> None:
    other = memory.remember(NEW).memory_id
    with pytest.raises(Conflict, match=f"memory {other} says the same already; nothing was changed"):
        memory.update(ada, text=NEW)
    assert memory.get(ada).text == OLD


def test_a_text_that_was_deleted_forever_is_refused(memory: Memory, ada: str) -> None:
    memory.delete(memory.remember(NEW).memory_id, confirm=True, forever=True)
    with pytest.raises(MemsweepError, match="deleted"):
        memory.update(ada, text=NEW)


def test_a_turn_of_a_thread_stays_in_its_place(memory: Memory) -> None:
    turns = [memory.remember(f"turn {n} of the talk", thread_id="talk").memory_id for n in range(3)]
    receipt = receipt_of(memory, turns[1], text="another word about cranes")
    assert memory.get(turns[1]).thread_id == "talk"
    memory.remember("turn 3 of the talk", thread_id="talk")
    assert sound(memory)
    memory.sweep.undo(receipt)
    assert sound(memory)
    receipt_of(memory, turns[1], text="a long word about cranes. " * 600)
    assert sound(memory)


def test_a_long_text_has_as_many_chunks_as_it_needs(memory: Memory, ada: str) -> None:
    long = "\n\n".join(f"Paragraph {n} speaks of crane number {n} in some detail." for n in range(300))
    receipt = receipt_of(memory, ada, text=long)
    assert memory.get(ada).chunk_count > 1
    assert sound(memory)
    memory.sweep.undo(receipt)
    assert memory.get(ada).chunk_count == 1
    assert sound(memory)


def test_secrets_are_redacted_on_this_way_in_too(memory: Memory, ada: str) -> None:
    updated = memory.update(ada, text=f"The key is {AWS}.", tags=[AWS], metadata={"k": AWS})
    assert updated.redacted == ("aws-access-key",)
    assert AWS not in repr(memory.get(ada))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "nothing to update"),
        ({"text": ""}, "text"),
        ({"text": 3}, "text"),
        ({"tags": "x"}, "tags must be a list"),
        ({"metadata": [1]}, "metadata must be an object"),
        ({"text": "a\0b"}, "NUL"),
    ],
)
def test_bad_input_is_one_sentence(memory: Memory, ada: str, change: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        memory.update(ada, **change)
    assert memory.get(ada).text == OLD


def test_what_is_not_there_is_not_updated(memory: Memory, ada: str) -> None:
    for wrong in ("mem_nothing", "", "ent_x", "mem_ü"):
        with pytest.raises(NotFound):
            memory.update(wrong, text=NEW)
    memory.delete(ada, confirm=True)
    with pytest.raises(NotFound):
        memory.update(ada, text=NEW)


def test_a_file_is_updated_by_indexing_it(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "a.py").write_text("def crane():\n    return 1\n")
    memory.code.index(str(tmp_path / "repository"))
    (hit, *_) = memory.search("crane").hits
    with pytest.raises(BadInput, match="is an indexed file, which is updated by indexing it again"):
        memory.update(hit.passage.memory_id, text=NEW)


def test_a_plan_made_before_leaves_what_changed_alone(memory: Memory, ada: str) -> None:
    memory.remember("soon gone", expires_at="2020-01-01T00:00:00Z")
    kept = memory.remember("soon gone, too", expires_at="2020-01-01T00:00:00Z").memory_id
    plan = memory.sweep.plan("expired")
    receipt_of(memory, kept, text="changed meanwhile")
    receipt = memory.sweep.apply(plan.id, confirm=True)
    assert receipt.skipped == ((kept, "changed since the plan was made"),)


def test_the_command_line_updates_and_shows_what_was(run: Callable[..., Ran], app: App) -> None:
    memory_id = json.loads(run("remember", OLD, "--json").out)["memory_id"]
    said = run("update", memory_id, NEW, "-t", "new")
    assert f"Updated {memory_id}." in said.out
    assert "`memsweep undo rcpt_" in said.out
    assert "revisions" in run("get", memory_id).out
    history = run("get", memory_id, "--history").out
    assert OLD in history
    assert "memsweep undo rcpt_" in history
    (earlier,) = json.loads(run("get", memory_id, "--history", "--json").out)["earlier"]
    assert earlier["text"] == OLD
    assert "Restored 1 memory." in run("undo", earlier["receipt_id"]).out
    assert run("update", memory_id).status != 0
    assert "is like that already" in run("update", memory_id, OLD).out


LONG = " ".join(f"Talk {n} was about gardens, cellos and the weather of Turin in a year of rain." for n in range(120))


@pytest.mark.parametrize("back", ["update", "origin"])
@pytest.mark.parametrize("again", [False, True])
def test_an_earlier_text_that_comes_back_stands_where_nothing_else_does(memory: Memory, back: str, again: bool) -> None:
    with called_by(GOOD):
        own = memory.remember(LONG, thread_id="talk").memory_id
    with called_by(EVIL):
        receipt = receipt_of(memory, own, text="A short word.")
    with called_by(GOOD):
        memory.remember("What came after it.", thread_id="talk")
        if again:
            receipt_of(memory, own, text=LONG + " And more.")
            memory.remember("What came last.", thread_id="talk")
            memory.sweep.undo(memory.sweep.receipts().receipts[0].id)
    if back == "update":
        memory.sweep.undo(receipt)
    else:
        memory.sweep.prune("origin", origin={"session": EVIL.session}, confirm=True, allow_large=True)
    assert memory.get(own).text == LONG
    assert sound(memory)


def test_an_undo_that_is_undone_gives_way_to_what_came_meanwhile(memory: Memory) -> None:
    own = memory.remember("A short word.", thread_id="talk").memory_id
    undone = memory.sweep.undo(receipt_of(memory, own, text=LONG))
    memory.remember("What came after it.", thread_id="talk")
    memory.sweep.undo(str(undone.receipt_id))
    assert memory.get(own).text == LONG
    assert sound(memory)
