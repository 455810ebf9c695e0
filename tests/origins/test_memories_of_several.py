"""A memory that several have had to do with is, without one of them, what the others made it."""

from pathlib import Path
from typing import Any

import pytest

from memsweep.app import Memory, called_by
from memsweep.model.revision import MemoryAct, said_again, state_of
from tests.origins.test_poisoning import EVIL, GOOD, OTHER, content
from tests.secrets.test_ways_in import AWS, AWS_MARK
from tests.support.engines import on_every_engine

KEY, MARK = AWS, AWS_MARK
TEXT = "Releases of the shop need two approvals."
WORSE = "Releases of the shop need no approvals."
AMENDED = "Releases of the shop need two approvals and a test."


def retract(memory: Memory, origin: dict[str, Any] | None = None) -> str:
    return memory.sweep.prune("origin", origin=origin or {"session": "ses_evil"}, confirm=True, allow_large=True).id


def said(memory: Memory, origin: Any, text: str = TEXT, **more: Any) -> str:
    with called_by(origin):
        return memory.remember(text, **more).memory_id


def state(memory: Memory, path: Path) -> dict[str, Any]:
    """What a backup says, without what grows with every change: versions, numbers of chunks and dates of changes."""
    rows = content(memory, path)
    position = {row["id"]: (row["memory"], row["position"]) for row in rows["chunk"].values()}
    grows = {"version", "updated_at", "id", "chunk"}
    loose = {
        table: sorted(
            str({name: value for name, value in row.items() if name not in grows}) + str(position.get(row.get("chunk")))
            for row in found.values()
        )
        for table, found in rows.items()
        if table in ("memory", "memory_tag", "chunk", "mention", "relation", "relation_source", "supersession")
    }
    return loose | {"entity": sorted(row["name"] for row in rows["entity"].values())}


def undone(memory: Memory, receipt: str, before: dict[str, Any], path: Path) -> None:
    memory.sweep.undo(receipt)
    assert state(memory, path) == before
    assert not memory.care.doctor().findings


@on_every_engine
def test_a_mention_comes_back_to_a_memory_that_is_in_the_trash_meanwhile(memory: Memory, tmp_path: Path) -> None:
    """Two sessions are taken back, and undone in the same order: the memory went with the second."""
    own = said(memory, GOOD, entities=["Quay"])
    said(memory, EVIL, entities=["Mallory"])
    before = state(memory, tmp_path / "1")
    first, second = retract(memory), retract(memory, {"session": "ses_good"})
    memory.sweep.undo(first)
    undone(memory, second, before, tmp_path / "2")
    assert {each.name for each in memory.get(own).entities} == {"Quay", "Mallory"}


@on_every_engine
def test_a_text_comes_back_beside_the_same_one_that_is_superseded_again(memory: Memory, tmp_path: Path) -> None:
    """What supersedes it comes back as well, so nothing was added meanwhile."""
    own = said(memory, GOOD)
    said(memory, EVIL, WORSE, supersedes=[own])
    assert said(memory, EVIL) != own
    before = state(memory, tmp_path / "1")
    undone(memory, retract(memory), before, tmp_path / "2")


@on_every_engine
def test_a_fact_is_what_all_say_though_it_was_in_the_trash_when_one_came_back(memory: Memory, tmp_path: Path) -> None:
    memory.remember("There is something.")
    for who in (EVIL, GOOD):
        with called_by(who):
            memory.graph.relate("Ada", "LIVES_IN", "Turin", weight=0.4)
    before = state(memory, tmp_path / "1")
    first, second = retract(memory), retract(memory, {"session": "ses_good"})
    memory.sweep.undo(first)
    undone(memory, second, before, tmp_path / "2")


@on_every_engine
def test_tags_metadata_and_an_expiry_that_were_added_go_and_come_back(memory: Memory, tmp_path: Path) -> None:
    own = said(memory, GOOD, tags=["ops"], metadata={"team": "shop"})
    said(memory, EVIL, tags=["ops", "obsolete"], metadata={"team": "none", "x": 1}, expires_at="2026-01-01T00:00:00Z")
    said(memory, OTHER, tags=["kept"])
    before = state(memory, tmp_path / "1")
    receipt = retract(memory)
    found = memory.get(own)
    assert (found.tags, found.metadata, found.expires_at) == (("ops", "kept"), {"team": "shop"}, None)
    assert found.origin.session == "ses_good"
    undone(memory, receipt, before, tmp_path / "2")


@on_every_engine
def test_a_text_stays_while_another_says_it_and_is_theirs_then(memory: Memory, tmp_path: Path) -> None:
    own = said(memory, EVIL, tags=["bad"], entities=["Mallory"])
    said(memory, OTHER, tags=["good"], source="chat")
    before = state(memory, tmp_path / "1")
    receipt = retract(memory)
    found = memory.get(own)
    assert (found.text, found.tags, found.origin.session) == (TEXT, ("good",), "ses_other")
    assert (found.entities, memory.graph.entities()[0]) == ((), [])
    second = retract(memory, {"session": "ses_other"})
    assert memory.stats().total_memories == 0, "nobody is left who says it"
    memory.sweep.undo(second)
    undone(memory, receipt, before, tmp_path / "2")
    assert memory.get(own).origin.session == "ses_evil"


@on_every_engine
def test_a_mention_that_was_added_to_anothers_memory_goes_and_comes_back(memory: Memory, tmp_path: Path) -> None:
    said(memory, GOOD, entities=["Shop"])
    own = said(memory, EVIL, entities=["Mallory", "Shop", "Evil"])
    said(memory, OTHER, entities=["Evil"])
    before = state(memory, tmp_path / "1")
    receipt = retract(memory)
    assert {each.name for each in memory.get(own).entities} == {"Shop", "Evil"}
    assert {each.name for each in memory.graph.entities()[0]} == {"Shop", "Evil"}
    undone(memory, receipt, before, tmp_path / "2")


@on_every_engine
def test_an_update_falls_back_to_the_text_before_and_comes_back(memory: Memory, tmp_path: Path) -> None:
    own = said(memory, GOOD, tags=["ops"])
    with called_by(EVIL):
        memory.update(own, text=WORSE, tags=["worse"], metadata={"by": "mallory"})
    before = state(memory, tmp_path / "1")
    receipt = retract(memory)
    found = memory.get(own)
    assert (found.text, found.tags, found.metadata, found.origin.session) == (TEXT, ("ops",), {}, "ses_good")
    assert [hit.passage.text for hit in memory.search("approvals").hits] == [TEXT]
    undone(memory, receipt, before, tmp_path / "2")
    assert [hit.passage.text for hit in memory.search("approvals").hits] == [WORSE]


@on_every_engine
def test_what_others_wrote_after_it_stays(memory: Memory, tmp_path: Path) -> None:
    own = said(memory, EVIL, WORSE, tags=["bad"])
    with called_by(GOOD):
        memory.update(own, text=AMENDED)
    with called_by(EVIL):
        memory.update(own, tags=["worse"])
    before = state(memory, tmp_path / "1")
    receipt = retract(memory)
    found = memory.get(own)
    assert (found.text, found.tags, found.origin.session) == (AMENDED, (), "ses_good")
    undone(memory, receipt, before, tmp_path / "2")


@on_every_engine
def test_an_update_that_was_undone_counts_no_more_until_that_is_undone(memory: Memory) -> None:
    own = said(memory, GOOD)
    with called_by(OTHER):
        first = memory.update(own, text=AMENDED).receipt_id
    assert first is not None
    back = memory.sweep.undo(first).receipt_id
    assert back is not None
    receipt = retract(memory, {"session": "ses_good"})
    assert memory.stats().total_memories == 0
    memory.sweep.undo(receipt)
    again = memory.sweep.undo(back).receipt_id
    assert again is not None
    assert memory.get(own).text == AMENDED
    retract(memory, {"session": "ses_good"})
    assert memory.get(own).text == AMENDED, "it is the other's"
    retract(memory, {"session": "ses_other"})
    assert memory.stats().total_memories == 0


@on_every_engine
def test_without_its_earlier_text_an_updated_memory_goes_as_a_whole(memory: Memory) -> None:
    own = said(memory, GOOD)
    with called_by(EVIL):
        memory.update(own, text=WORSE)
    memory.sweep.purge(0, confirm=True)
    receipt = retract(memory)
    assert memory.stats().total_memories == 0
    memory.sweep.undo(receipt)
    assert memory.get(own).text == WORSE


@on_every_engine
def test_an_earlier_text_that_was_said_anew_is_one_memory(memory: Memory) -> None:
    own = said(memory, GOOD)
    with called_by(EVIL):
        memory.update(own, text=WORSE)
    anew = said(memory, OTHER)
    assert anew != own
    retract(memory)
    assert [hit.passage.memory_id for hit in memory.search("approvals", mode="deep").hits] == [anew]


@on_every_engine
def test_who_said_that_one_supersedes_another_is_taken_back_alone(memory: Memory, tmp_path: Path) -> None:
    old, new = said(memory, GOOD), said(memory, GOOD, AMENDED)
    said(memory, EVIL, AMENDED, supersedes=[old])
    newest = said(memory, OTHER, "Releases of the shop are frozen.", supersedes=[new])
    assert [each.memory_id for each in memory.get(old).superseded_by] == [new, newest]
    before = state(memory, tmp_path / "1")
    receipt = retract(memory)
    assert memory.get(old).superseded_by == ()
    assert [each.memory_id for each in memory.get(new).superseded_by] == [newest]
    undone(memory, receipt, before, tmp_path / "2")
    said(memory, GOOD, AMENDED)
    said(memory, OTHER, AMENDED, supersedes=[old]) if memory.get(new).superseded_by == () else None


@on_every_engine
def test_a_link_that_two_have_said_ends_with_the_second(memory: Memory) -> None:
    old, new = said(memory, GOOD), said(memory, GOOD, AMENDED)
    said(memory, EVIL, AMENDED, supersedes=[old])
    said(memory, OTHER, AMENDED, supersedes=[old])
    retract(memory)
    assert [each.memory_id for each in memory.get(old).superseded_by] == [new]
    retract(memory, {"session": "ses_other"})
    assert memory.get(old).superseded_by == ()


@on_every_engine
def test_what_is_added_while_it_is_taken_back_counts_once_that_is_undone(memory: Memory) -> None:
    own = said(memory, GOOD)
    said(memory, EVIL, tags=["evil"])
    receipt = retract(memory)
    said(memory, OTHER, tags=["later"])
    memory.sweep.undo(receipt)
    assert set(memory.get(own).tags) == {"evil", "later"}


@on_every_engine
def test_a_purge_leaves_nothing_of_what_was_taken_back(memory: Memory, tmp_path: Path) -> None:
    said(memory, GOOD)
    said(memory, EVIL, tags=["unspeakable"])
    retract(memory)
    memory.sweep.purge(0, confirm=True)
    memory.care.backup(tmp_path / "b")
    assert b"unspeakable" not in (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("key", [1, 2, 3])
def test_nobody_who_is_taken_back_keeps_a_text(key: int) -> None:
    say = MemoryAct(1, "say", 1, 7, {"text": "a"}, key=1)
    acts = [say, say._replace(key=2, origin=8), say._replace(key=3, origin=9)]
    left = state_of([act._replace(trash=5) if act.key == key else act for act in acts])
    assert left is not None
    assert left.by == tuple(origin for number, origin in ((1, 7), (2, 8), (3, 9)) if number != key)
    assert state_of(acts, {1, 2, 3}) is None


@on_every_engine
def test_a_secret_that_is_redacted_later_is_redacted_in_what_was_said_and_falls_back_redacted(
    make: Any, tmp_path: Path
) -> None:
    warned, memory = make(MEMSWEEP_SECRETS_ACTION="off").memory(), make().memory()
    own = said(warned, GOOD, f"The key is {KEY}.", tags=["a"])
    said(warned, OTHER, f"The key is {KEY}.", tags=[KEY])
    with called_by(EVIL):
        warned.update(own, text=f"The key was {KEY}.")
    redacted = memory.sweep.prune("secrets", confirm=True).id
    retract(memory)
    assert memory.get(own).text == f"The key is {MARK}."
    memory.sweep.purge(0, confirm=True)
    memory.care.backup(tmp_path / "b")
    assert KEY.encode() not in (tmp_path / "b").read_bytes(), redacted
    retract(memory, {"session": "ses_good"})
    assert memory.get(own).tags == (MARK,)


def test_what_was_said_before_is_written_down_again_if_somebody_has_said_otherwise() -> None:
    said = {"text": "a", "metadata": {"team": "shop"}}
    ada = MemoryAct(1, "say", 1, 7, said, key=1)
    again = ada._replace(key=0, at=3)
    assert said_again([], ada, again) == []
    eve = ada._replace(key=2, origin=8, said={**said, "metadata": {"team": "none"}})
    assert said_again([ada, eve], ada, again) == [again]
