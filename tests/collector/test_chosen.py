"""A plan of memories that somebody named, and a receipt looked at by itself."""

import pytest

from memsweep.app import Memory
from memsweep.errors import Conflict, NotFound
from memsweep.model.strategies import CHOSEN
from tests.support.engines import on_every_engine


@on_every_engine
def test_a_plan_of_chosen_memories_is_like_any_other(memory: Memory) -> None:
    ledger = memory.remember("Ada owns the ledger.", entities=["Ada"]).memory_id
    pager = memory.remember("Bob holds the pager.", entities=["Bob"]).memory_id
    pinned = memory.remember("Never on Fridays.", pinned=True).memory_id
    others = [memory.remember(text).memory_id for text in ("One.", "Two.", "Three.", "Four.")]
    plan = memory.sweep.plan_chosen([ledger, pager, pinned, ledger])
    assert (plan.strategy, plan.totals.memories, plan.totals.entities) == (CHOSEN, 2, 2)
    assert [each["id"] for each in plan.protected] == [pinned]
    assert plan.receipt_id is None
    receipt = memory.sweep.apply(plan.id, confirm=True, exclude=[pager])
    assert receipt.totals.memories == 1
    assert memory.get(pager).entities
    assert memory.sweep.get_plan(plan.id).receipt_id == receipt.id
    with pytest.raises(Conflict, match="applied already"):
        memory.sweep.apply(plan.id, confirm=True)
    memory.sweep.undo(receipt.id)
    assert memory.get(ledger).text == "Ada owns the ledger."
    assert {each.id for each in memory.memories().memories} == {ledger, pager, pinned, *others}


@on_every_engine
def test_what_is_not_there_cannot_be_chosen(memory: Memory) -> None:
    own = memory.remember("Ada owns the ledger.").memory_id
    with pytest.raises(NotFound, match="mem_000000000000"):
        memory.sweep.plan_chosen([own, "mem_000000000000"])
    assert [each.action for each in memory.sweep.audit()] == ["add"]
    assert memory.sweep.plan_chosen([]).item_count == 0


@on_every_engine
def test_a_receipt_is_the_same_alone_and_in_the_list(memory: Memory) -> None:
    receipts = []
    for text in ("One.", "Two."):
        receipts.append(memory.delete(memory.remember(text).memory_id, confirm=True).id)
    memory.sweep.undo(receipts[0])
    listed = {each.id: each for each in memory.sweep.receipts().receipts}
    for receipt_id in receipts:
        assert memory.sweep.receipt(receipt_id) == listed[receipt_id]
    assert memory.sweep.receipt(receipts[0]).state == "undone"
    with pytest.raises(NotFound, match="rcpt_000000000000"):
        memory.sweep.receipt("rcpt_000000000000")
