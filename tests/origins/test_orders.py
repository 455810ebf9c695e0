"""Several sessions are taken back and given back in any order, with redactions, deletions and words in between."""

from pathlib import Path
from typing import Any

import pytest

from memsweep.app import Memory, called_by
from memsweep.errors import Conflict
from memsweep.report.collector import applied
from memsweep.report.collector import undone as answer_of
from tests.origins.test_memories_of_several import (
    AMENDED,
    KEY,
    TEXT,
    WORSE,
    retract,
    said,
    state,
    undone,
)
from tests.origins.test_poisoning import EVIL, GOOD, OTHER
from tests.support.engines import on_every_engine

pytestmark = on_every_engine


def test_the_same_text_of_two_comes_back_though_what_superseded_the_first_is_still_in_the_trash(
    memory: Memory, tmp_path: Path
) -> None:
    own = said(memory, GOOD)
    said(memory, EVIL, WORSE, supersedes=[own])
    assert said(memory, OTHER) != own
    before = state(memory, tmp_path / "1")
    receipts = [retract(memory, {"session": f"ses_{who}"}) for who in ("other", "good", "evil")]
    assert [memory.sweep.undo(receipt).conflicts for receipt in receipts] == [(), (), ()]
    assert state(memory, tmp_path / "2") == before


def test_the_same_text_of_two_comes_back_with_the_link_between_others_that_made_room_for_it(
    memory: Memory, tmp_path: Path
) -> None:
    own, _ = said(memory, GOOD), said(memory, GOOD, AMENDED)
    said(memory, EVIL, AMENDED, supersedes=[own])
    assert said(memory, EVIL) != own
    before = state(memory, tmp_path / "1")
    undone(memory, retract(memory), before, tmp_path / "2")


def test_the_same_text_of_two_comes_back_though_the_first_says_it_only_while_an_update_is_taken_back(
    memory: Memory, tmp_path: Path
) -> None:
    own = said(memory, GOOD)
    with called_by(EVIL):
        memory.update(own, text=WORSE)
    assert said(memory, OTHER) != own
    before = state(memory, tmp_path / "1")
    receipts = [retract(memory, {"session": f"ses_{who}"}) for who in ("other", "evil")]
    assert memory.get(own).text == TEXT
    assert [memory.sweep.undo(receipt).conflicts for receipt in receipts] == [(), ()]
    assert state(memory, tmp_path / "2") == before


def test_a_fact_holds_again_without_a_session_that_ended_it_and_stated_it_anew(memory: Memory, tmp_path: Path) -> None:
    memory.remember("There is something.")
    for who, where in ((GOOD, "Turin"), (EVIL, "Oslo"), (EVIL, "Turin")):
        with called_by(who):
            memory.graph.relate("Ada", "LIVES_IN", where, replaces=True)
    before = state(memory, tmp_path / "1")
    plan = memory.sweep.plan("origin", origin={"session": "ses_evil"})
    receipt = memory.sweep.apply(plan.id, confirm=True, allow_large=True)
    assert receipt.skipped == ()
    (edge,) = memory.graph.related("Ada").walk.edges
    assert edge.invalid_at is None
    undone(memory, receipt.id, before, tmp_path / "2")


def test_a_text_that_was_said_anew_after_a_deletion_is_in_the_way_of_its_undo(memory: Memory) -> None:
    memory.remember("There is something.")
    own = said(memory, GOOD)
    deleted = memory.delete(own, confirm=True).id
    anew = said(memory, OTHER)
    with pytest.raises(Conflict, match=f"of {own}, the same text was added again as {anew}"):
        memory.sweep.undo(deleted)


def test_what_is_said_again_while_an_update_is_taken_back_is_the_last_word(memory: Memory) -> None:
    own = said(memory, GOOD)
    with called_by(EVIL):
        memory.update(own, text=WORSE)
    receipt = retract(memory)
    said(memory, GOOD)
    memory.sweep.undo(receipt)
    assert (memory.get(own).text, memory.get(own).origin.session) == (TEXT, "ses_good")
    retract(memory, {"session": "ses_good"})
    assert memory.get(own).text == WORSE, "without who said it again, the update is the last word"


def test_an_update_that_is_done_again_is_the_last_word(memory: Memory) -> None:
    own = said(memory, GOOD)
    with called_by(OTHER):
        updated = memory.update(own, text=AMENDED)
    assert updated.receipt_id is not None
    undo = memory.sweep.undo(updated.receipt_id)
    said(memory, GOOD, tags=["kept"])
    said(memory, EVIL, tags=["bad"])
    assert undo.receipt_id is not None
    memory.sweep.undo(undo.receipt_id)
    retract(memory)
    assert (memory.get(own).text, memory.get(own).tags) == (AMENDED, ("kept",))


def test_what_a_pinned_memory_mentions_is_not_planned(memory: Memory) -> None:
    memory.remember("There is something.")
    own = said(memory, EVIL, entities=["Mallory"])
    memory.pin(own)
    assert memory.sweep.plan("origin", origin={"session": "ses_evil"}).item_count == 0


def test_whose_a_mention_is_survives_that_its_text_is_redacted_and_comes_back(make: Any, tmp_path: Path) -> None:
    memory = make(MEMSWEEP_SECRETS_ACTION="off").memory()
    said(memory, GOOD, f"The key is {KEY}.", entities=["Quay"])
    said(memory, EVIL, f"The key is {KEY}.", entities=["Mallory"])
    before = state(memory, tmp_path / "1")["mention"]
    receipt = memory.sweep.prune("secrets", confirm=True).id
    assert state(memory, tmp_path / "2")["mention"] == before
    memory.sweep.undo(receipt)
    assert state(memory, tmp_path / "3")["mention"] == before


@pytest.mark.parametrize("first", ["retraction", "redaction"])
def test_a_retraction_and_a_redaction_of_one_memory_are_undone_in_either_order(
    make: Any, tmp_path: Path, first: str
) -> None:
    memory = make(MEMSWEEP_SECRETS_ACTION="off").memory()
    said(memory, EVIL, f"The key is {KEY}.", tags=["bad"], entities=["Mallory"])
    said(memory, GOOD, f"The key is {KEY}.", tags=["good"], entities=["Quay"])
    before = state(memory, tmp_path / "1")
    retraction, redaction = retract(memory), memory.sweep.prune("secrets", confirm=True).id
    order = [retraction, redaction] if first == "retraction" else [redaction, retraction]
    assert memory.sweep.undo(order[0]).conflicts == ()
    undone(memory, order[1], before, tmp_path / "2")


def updated(memory: Memory, origin: Any, memory_id: str, **change: Any) -> None:
    with called_by(origin):
        memory.update(memory_id, **change)


def test_what_is_in_the_trash_comes_back_without_who_was_taken_back_meanwhile(memory: Memory, tmp_path: Path) -> None:
    """Its author was taken back first, or somebody deleted it."""
    memory.remember("There is something.")
    own, other = said(memory, GOOD, tags=["ops"]), said(memory, GOOD, AMENDED)
    newer = said(memory, OTHER, "Releases of the shop are frozen.")
    said(memory, EVIL, tags=["bad"], entities=["Mallory"])
    said(memory, EVIL, "Releases of the shop are frozen.", supersedes=[own])
    updated(memory, EVIL, other, text=WORSE)
    with called_by(GOOD):
        memory.graph.relate("Ada", "KNOWS", "Bob", weight=0.2)
    before = state(memory, tmp_path / "1")
    deleted = [memory.delete(each, confirm=True).id for each in (own, other)]
    plan = memory.sweep.plan("origin", origin={"session": "ses_evil"})
    assert {item.reason for item in memory.sweep.items(plan.id)} >= {"in_trash"}
    receipt = memory.sweep.apply(plan.id, confirm=True, allow_large=True)
    assert receipt.skipped == ()
    for each in deleted:
        memory.sweep.undo(each)
    found = memory.get(own)
    assert (found.tags, found.entities, found.superseded_by) == (("ops",), (), ())
    assert (memory.get(other).text, memory.get(newer).supersedes) == (AMENDED, ())
    undone(memory, receipt.id, before, tmp_path / "2")


def test_a_fact_in_the_trash_comes_back_without_who_was_taken_back_meanwhile(memory: Memory, tmp_path: Path) -> None:
    memory.remember("There is something.")
    with called_by(GOOD):
        memory.graph.relate("Ada", "KNOWS", "Bob", weight=0.2)
    with called_by(EVIL):
        memory.graph.reinforce("Ada", "KNOWS", "Bob", amount=0.5)
    before = state(memory, tmp_path / "1")
    good, evil = retract(memory, {"session": "ses_good"}), retract(memory)
    memory.sweep.undo(good)
    (edge,) = memory.graph.related("Ada").walk.edges
    assert edge.weight == pytest.approx(0.2, abs=1e-3)
    undone(memory, evil, before, tmp_path / "2")


def test_what_waits_for_the_undo_of_a_deletion_is_named(memory: Memory, tmp_path: Path) -> None:
    memory.remember("There is something.")
    for who in (GOOD, EVIL):
        own = said(memory, who)
    before = state(memory, tmp_path / "1")
    good = retract(memory, {"session": "ses_good"})
    deleted = memory.delete(own, confirm=True).id
    assert memory.sweep.undo(good).conflicts == ((own, f"it is in the trash; undoing {deleted} brings it back"),)
    undone(memory, deleted, before, tmp_path / "2")


def test_an_earlier_text_comes_back_though_who_is_taken_back_had_said_it_anew(memory: Memory, tmp_path: Path) -> None:
    own = said(memory, GOOD)
    updated(memory, EVIL, own, text=WORSE)
    anew = said(memory, EVIL)
    assert anew != own
    before = state(memory, tmp_path / "1")
    receipt = retract(memory)
    assert [(each.id, each.text) for each in memory.memories().memories] == [(own, TEXT)]
    undone(memory, receipt, before, tmp_path / "2")


def test_a_memory_goes_as_a_whole_if_its_earlier_text_is_that_of_a_pinned_one(memory: Memory, tmp_path: Path) -> None:
    own = said(memory, GOOD)
    updated(memory, EVIL, own, text=WORSE)
    memory.pin(anew := said(memory, EVIL))
    before = state(memory, tmp_path / "1")
    receipt = retract(memory)
    assert [(each.id, each.text) for each in memory.memories().memories] == [(anew, TEXT)]
    undone(memory, receipt, before, tmp_path / "2")


def test_a_fact_that_a_merge_has_strengthened_is_as_old_as_it_was(memory: Memory, tmp_path: Path) -> None:
    memory.remember("There is something.")
    for who, name, weight in ((GOOD, "Mallory", 0.4), (EVIL, "Quay", 0.3)):
        with called_by(who):
            memory.graph.relate(name, "KNOWS", "Ada", weight=weight)
    memory.graph.merge(["Mallory"], "Quay")
    before = state(memory, tmp_path / "1")
    undone(memory, retract(memory), before, tmp_path / "2")


def test_what_a_retraction_only_changed_is_said_and_so_is_that_it_is_given_back(memory: Memory) -> None:
    for who in (GOOD, EVIL):
        said(memory, who)
    receipt = memory.sweep.prune("origin", origin={"session": "ses_evil"}, confirm=True)
    assert "1 memory stays without what was taken back" in applied(receipt)["message"]
    assert "Gave back to 1 memory what was taken back." in answer_of(memory.sweep.undo(receipt.id))["message"]
