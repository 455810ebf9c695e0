"""Undo and recover: what a receipt put into the trash is live again. Reads and decides first, writes last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.errors import Conflict, NotFound
from memsweep.gc.returning import Returning
from memsweep.gc.unmerge import take_apart
from memsweep.model.plan import Undone
from memsweep.store.changes import NewReceipt, ReceiptRow
from memsweep.store.paused import gc_paused

if TYPE_CHECKING:
    from memsweep.model.operation import Operation
    from memsweep.store.ports.collector import Collector

_NO_RECEIPT = 0
"""Holds nothing: keys begin at 1."""


def undo(store: Collector, receipt_id: str, doing: Operation) -> Undone:
    """Everything of a receipt back, but for what has been made again meanwhile, and what a merge keeps."""
    with store.changing() as tx:
        receipt = _usable(tx.receipts.get(receipt_id), receipt_id)
        with gc_paused():
            apart = take_apart(tx, receipt, doing)
            back = Returning(tx, receipt, doing, apart)
        taken = tx.segments.clashing(receipt)
        if apart is not None:
            apart.write(tx)
        back.write(tx)
        totals = replace(back.totals, segments=tx.segments.put_back(receipt, taken.keys()))
        tx.receipts.set_undone(receipt, doing.now)
        tx.audit(doing.counted("undo", receipt_id, totals))
    clashes = [(segment, "a segment with its id was added meanwhile") for segment in taken.values()]
    return Undone(totals, (*back.conflicts, *clashes))


def recover(store: Collector, memory_id: str, receipt_id: str, doing: Operation) -> Undone:
    """Bring one memory back, under a receipt of its own that is undone at once."""
    with store.changing() as tx:
        memory = tx.trash.memory(memory_id)
        if memory is None:
            raise NotFound(f"memory {memory_id!r:.60} is not in the trash.", hint="list_trash shows what is.")
        back = Returning(tx, _NO_RECEIPT, doing, only_memory=memory)
        if back.totals.memories == 0:
            raise Conflict(f"memory {memory_id} cannot come back: {back.conflicts[0][1]}.")
        back.write(tx)
        tx.receipts.add(NewReceipt(receipt_id, "recover", "recover", doing.actor, doing.now, undone_at=doing.now))
        tx.audit(doing.counted("recover", memory_id, back.totals))
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
