"""Undo and recover: what a receipt put into the trash is live again. Reads and decides first, writes last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.errors import Conflict, NotFound
from memsweep.gc.earlier_texts import Embed
from memsweep.gc.recovering import ActsBack, cannot_return, only_one
from memsweep.gc.rejoin import take_back
from memsweep.gc.retraction import Restatement
from memsweep.gc.returning import Returning
from memsweep.gc.revert import Reverting
from memsweep.gc.staying_again import StayingAgain
from memsweep.gc.unmerge import take_apart
from memsweep.model.plan import Totals, Undone
from memsweep.store.paused import gc_paused
from memsweep.store.ports.receipts import NewReceipt, ReceiptRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memsweep.model.operation import Operation
    from memsweep.store.changes import Changes
    from memsweep.store.ports.collector import Collector
    from memsweep.store.ports.segments import Summary


def undo(store: Collector, receipt_id: str, new_receipt: str, doing: Operation, embed: Embed) -> Undone:
    """Everything of a receipt back, but for what has been made again meanwhile, and what a merge keeps.

    The summary of segments that come back goes to the trash, under a new receipt, which also holds what a memory was
    that is changed back.
    """
    with store.changing() as tx:
        receipt = _usable(tx.receipts.get(receipt_id), receipt_id)
        with gc_paused():
            apart = take_apart(tx, receipt, doing)
            joined = take_back(tx, receipt)
            restated = Restatement(tx, receipt)
            changed = Reverting(tx, receipt, doing, embed)
            again = StayingAgain(tx, receipt, doing, embed, changed.memories)
            said = again.returning._replace(facts=restated.said_again, stated=frozenset(restated.relations))
            back = Returning(tx, receipt, doing, apart, ended=restated.ended, said=said)
            changed.restate(back.relations)
            facts = restated.conflicts(tx, back.relations)
        taken = tx.segments.clashing(receipt)
        summaries = _summaries(tx, receipt)
        going = [each for each in summaries if not each.pinned]
        _refuse_if_nothing_comes_back(changed, receipt_id)
        if apart is not None:
            apart.write(tx)
        if joined is not None:
            joined.write(tx)
        restated.write(tx, back.relations)  # first: what it ends may give way to what comes back
        again.bring_back(tx)
        back.write(tx)
        totals = replace(back.totals, segments=tx.segments.put_back(receipt, taken.keys()))
        totals = totals.plus(changed.totals).plus(joined.totals if joined else Totals())
        again.write(tx, _take_out(tx, going, changed, new_receipt, doing))
        tx.receipts.set_undone(receipt, doing.now)
        tx.audit(
            doing.counted(
                "undo", receipt_id, totals, ids=(*back.ids, *changed.ids, *again.ids, *(joined.ids if joined else ()))
            )
        )
    clashes = [(segment, "a segment with its id was added meanwhile") for segment in taken.values()]
    clashes += [(each.id, "this summary is pinned, so it stays in the window") for each in summaries if each.pinned]
    ids = tuple(each.id for each in going)
    clashes += joined.conflicts if joined else []
    conflicts = (*back.conflicts, *facts, *changed.conflicts, *again.conflicts, *clashes)
    return Undone(
        totals,
        conflicts,
        ids,
        new_receipt if going or changed.updated else None,
        changed.updated,
        changed.description,
        Totals(memories=again.count, relations=restated.count),
    )


def _summaries(tx: Changes, receipt: int) -> list[Summary]:
    """What was written in place of the segments that come back."""
    back = tx.segments.stashed_by(receipt)
    return [each for each in tx.segments.summaries(receipt) if back <= {*each.references}] if back else []


def _refuse_if_nothing_comes_back(changed: Reverting, receipt_id: str) -> None:
    """So that the receipt can be used later, when what stands in its way is gone."""
    if changed.conflicts and not changed.count:
        item, why = changed.conflicts[0]
        raise Conflict(f"receipt {receipt_id} cannot be undone: of {item}, {why}. Nothing was changed.")


def _take_out(tx: Changes, summaries: Sequence[Summary], changed: Reverting, receipt_id: str, doing: Operation) -> int:
    """What gives way to what comes back, under a receipt of its own; its key, or 0."""
    totals = Totals(memories=changed.updated, segments=len(summaries))
    receipt = NewReceipt(receipt_id, "undo", "undo", doing.actor, doing.now, totals=totals)
    key = tx.receipts.add(receipt) if summaries or changed.updated else 0
    changed.write(tx, key)
    if summaries:
        tx.segments.trash([(each.key, each.window) for each in summaries], key)
        tx.audit(doing.counted("trash", receipt_id, totals, "summary of segments that came back"))
    return key


def recover(store: Collector, item_id: str, receipt_id: str, doing: Operation) -> Undone:
    """Bring one item back with what it needs, under a receipt of its own that is undone at once."""
    with store.changing() as tx:
        found = tx.trash.find(item_id)
        if found is None:
            raise NotFound(f"{item_id!r:.60} is not in the trash.", hint="list_trash shows what is.")
        only, holder = only_one(tx, item_id, *found)
        back = Returning(tx, holder, doing, only=only)
        if not back.has(only):
            raise cannot_return(tx, item_id, only, back.conflicts)
        acts = ActsBack(tx, only)
        acts.write(tx)
        back.write(tx)
        tx.receipts.add(NewReceipt(receipt_id, "recover", "recover", doing.actor, doing.now, undone_at=doing.now))
        tx.audit(doing.counted("recover", item_id, back.totals, ids=back.ids))
    return Undone(back.totals, tuple(back.conflicts))


def _usable(receipt: ReceiptRow | None, receipt_id: str) -> int:
    if receipt is None:
        raise NotFound(
            f"receipt {receipt_id!r:.60} does not exist in this workspace.", hint="list_trash shows the receipts."
        )
    if receipt.undone_at is not None:
        raise Conflict(f"receipt {receipt_id} was undone already at {receipt.undone_at:%Y-%m-%d %H:%M} UTC.")
    if receipt.purged_at is not None:
        raise Conflict(
            f"receipt {receipt_id} was purged at {receipt.purged_at:%Y-%m-%d %H:%M} UTC; it cannot be undone."
        )
    return receipt.key
