"""Receipts as a history. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memsweep.model.plan import counts_of
from memsweep.model.times import iso
from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.plan import ReceiptDetails, ReceiptPage

_HELD = ("memories", "chunks", "entities", "relations", "segments", "revisions", "stashed")


class ReceiptsAnswer(TypedDict):
    receipts: list[dict[str, Any]]
    next_cursor: str | None


def receipts(page: ReceiptPage) -> ReceiptsAnswer:
    return {"receipts": [_receipt(each) for each in page.receipts], "next_cursor": page.next_cursor}


def _receipt(each: ReceiptDetails) -> dict[str, Any]:
    held = {name: number for name in _HELD if (number := getattr(each.held, name))}
    return {
        "receipt_id": each.id,
        "plan_id": each.plan_id,
        "state": each.state,
        "action": each.action,
        "strategy": each.strategy,
        "actor": each.actor,
        "at": iso(each.created_at),
        "moved": counts_of(each.totals),
        "skipped": each.skipped,
        "undone_at": iso(each.undone_at) if each.undone_at else None,
        "purged_at": iso(each.purged_at) if each.purged_at else None,
        "held": held,
        "bytes": each.bytes,
        "days_left": None if each.days_left is None else round(each.days_left, 1),
    }
