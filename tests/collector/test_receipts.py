"""Receipts as a history: what each did and what has become of it, page by page, and the trash by receipt."""

from collections.abc import Callable

import pytest

from memsweep.app import App, Memory
from memsweep.errors import BadInput
from memsweep.model.plan import ReceiptDetails
from tests.support.engines import on_every_engine


def remembered(memory: Memory, *texts: str) -> list[str]:
    return [memory.remember(text, expires_at="2020-01-01").memory_id for text in texts]


def state(memory: Memory, receipt_id: str) -> str:
    return next(each.state for each in memory.sweep.receipts().receipts if each.id == receipt_id)


@on_every_engine
def test_a_receipt_says_what_has_become_of_what_it_moved(memory: Memory) -> None:
    ids = remembered(memory, "one about Grace Hopper", "two", "three")
    pruned = memory.sweep.prune("expired", confirm=True, allow_large=True).id
    (found,) = memory.sweep.receipts().receipts
    assert (found.action, found.strategy, found.door, found.state) == ("prune", "expired", "library", "applied")
    assert (found.totals.memories, found.held.memories, found.held.chunks) == (3, 3, 3)
    texts = len("one about Grace Hopper" + "two" + "three") * 2  # of memories, and of their chunks
    assert found.held.letters >= texts
    assert found.bytes > found.held.letters, "vectors have a size, too"
    assert found.days_left is None, "nothing is scheduled"
    memory.sweep.recover(ids[1])
    assert state(memory, pruned) == "partly undone"
    for each in (ids[0], ids[2]):
        memory.sweep.recover(each)
    assert state(memory, pruned) == "undone", "one by one"
    assert [each.id for each in memory.sweep.receipts().receipts] == [pruned], "what recovers is none of them"


@on_every_engine
def test_undone_partly_undone_and_purged(memory: Memory) -> None:
    one, two = remembered(memory, "one", "two")
    updated = memory.update(one, text="one and more").receipt_id
    assert state(memory, updated) == "applied"
    memory.sweep.undo(updated)
    assert state(memory, updated) == "undone"
    pruned = memory.sweep.prune("expired", confirm=True, allow_large=True).id
    memory.remember("two")  # takes the place of what is in the trash
    memory.sweep.undo(pruned)
    assert state(memory, pruned) == "partly undone"
    assert [item.id for item in memory.sweep.trash(receipt_id=pruned)[0]] == [two]
    merged = _merge(memory)
    assert state(memory, merged) == "applied"
    memory.sweep.undo(merged)
    assert state(memory, merged) == "undone"
    memory.sweep.purge(0, confirm=True)
    assert {each.state for each in memory.sweep.receipts().receipts} == {"purged"}
    assert memory.sweep.trash_by_receipt().receipts == ()


def _merge(memory: Memory) -> str:
    for name in ("Grace H", "Grace Hopper"):
        memory.graph.relate(name, "KNOWS", "Ada Lovelace")
    return memory.graph.merge(["Grace H"], into="Grace Hopper").receipt_id


@on_every_engine
def test_pages_stay_right_while_receipts_are_added(memory: Memory) -> None:
    made = []
    for n in range(5):
        (uid,) = remembered(memory, f"note {n}")
        made.insert(0, memory.delete(uid, confirm=True).id)
    first = memory.sweep.receipts(limit=2)
    memory.delete(remembered(memory, "meanwhile")[0], confirm=True)
    seen, cursor = [each.id for each in first.receipts], first.next_cursor
    while cursor:
        page = memory.sweep.receipts(limit=2, cursor=cursor)
        seen += [each.id for each in page.receipts]
        cursor = page.next_cursor
    assert seen == made
    with pytest.raises(BadInput, match="does not belong to this listing"):
        memory.sweep.trash_by_receipt(cursor=first.next_cursor)
    for wrong in ("x", "AAAA", "😀"):
        with pytest.raises(BadInput, match="does not belong"):
            memory.sweep.receipts(cursor=wrong)


@on_every_engine
def test_the_trash_by_receipt_is_all_of_the_trash(memory: Memory) -> None:
    ids = remembered(memory, "one about Grace Hopper", "two")
    deleted = memory.delete(ids[0], confirm=True).id
    pruned = memory.sweep.prune("expired", confirm=True, allow_large=True).id
    undone = memory.delete(remembered(memory, "three")[0], confirm=True).id
    memory.sweep.undo(undone)
    found = memory.sweep.trash_by_receipt().receipts
    assert [each.id for each in found] == [pruned, deleted]
    items = [item for each in found for item in memory.sweep.trash(receipt_id=each.id)[0]]
    assert sorted(item.id for item in items) == sorted(item.id for item in memory.sweep.trash()[0])
    assert [memory.sweep.trash(receipt_id=each.id, limit=1)[1] for each in found] == [1, len(items) - 1]
    assert memory.sweep.trash(receipt_id="rcpt_none") == ([], 0)


def test_a_scheduled_purge_is_counted_down(make: Callable[..., App]) -> None:
    def left(**schedule: str) -> list[float | None]:
        found: list[ReceiptDetails] = list(make(**schedule).memory().sweep.receipts().receipts)
        return [None if each.days_left is None else round(each.days_left) for each in found]

    memory = make().memory()
    memory.delete(remembered(memory, "one")[0], confirm=True)
    on = {"MEMSWEEP_SCHEDULE_ENABLED": "true", "MEMSWEEP_SCHEDULE_PURGE_DAYS": "7"}
    assert left(**on) == [7]
    assert left(**on, MEMSWEEP_SCHEDULE_WORKSPACES="other") == [None]
    assert left(MEMSWEEP_SCHEDULE_PURGE_DAYS="7") == [None]
