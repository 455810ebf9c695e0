"""Trash: what can still come back, by receipt; and purging it, with the consequences spelled out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from starlette.responses import Response

from memsweep.errors import BadInput, Unconfirmed
from memsweep.model.audit import Trashed
from memsweep.model.plan import ReceiptDetails
from memsweep.report import amount
from memsweep.web.screen import Call, Screen

PER_PAGE = 12
_FIRST_ITEMS = 6
_AT_ONCE = 500
AGES = (30, 7, 1, 0)


@dataclass(frozen=True, slots=True)
class Heap:
    """A receipt with the first of what it holds."""

    receipt: ReceiptDetails
    items: list[Trashed]
    more: int


def trash(call: Call) -> Response:
    sweep = call.memory.sweep
    page = sweep.trash_by_receipt(limit=PER_PAGE, cursor=call.asked("after") or None)
    heaps = []
    for receipt in page.receipts:
        items, total = sweep.trash(receipt_id=receipt.id, limit=_FIRST_ITEMS)
        heaps.append(Heap(receipt, items, total - len(items)))
    return call.show(
        "trash.html",
        heaps=heaps,
        total=sweep.trash(limit=1)[1],
        after=call.next_page("/trash", page.next_cursor),
        deleted=call.page.app.workspaces(deleted=True) if call.session.grant.workspaces is None else [],
        in_use=call.workspaces,
        revision=call.revision,
    )


def restore(call: Call) -> Response:
    back = call.memory.sweep.recover(call.part("item"))
    what = amount(back.totals)
    return call.go("/trash", f"{what[:1].upper()}{what[1:]} came back.")


def restore_workspace(call: Call) -> Response:
    """A whole workspace, which belongs to no single one; so whoever sees only some may not."""
    if call.session.grant.workspaces is not None:
        raise BadInput("this login is limited to some workspaces, and cannot bring any back.")
    call.page.app.undo(call.part("receipt"))
    return call.go("/trash", "The workspace is back.")


def before_purge(call: Call) -> Response:
    """Show what a purge would delete for good."""
    days = _days(call.asked("days"))
    found = _older_than(call, days)
    totals = [receipt.held for receipt in found]
    return call.show(
        "purge.html",
        days=days,
        ages=AGES,
        receipts=len(found),
        memories=sum(held.memories for held in totals),
        names=sum(held.entities for held in totals),
        facts=sum(held.relations for held in totals),
        revisions=sum(held.revisions for held in totals),
        size=sum(receipt.bytes for receipt in found),
    )


def purge(call: Call) -> Response:
    if call.given("understood") != "yes":
        raise Unconfirmed("purging cannot be undone, and was not confirmed.", hint="Go back and tick it.")
    freed = call.memory.sweep.purge(_days(call.given("days")), confirm=True)
    what = amount(freed, revisions=freed.revisions)
    said = f"Freed {what} for good." if what else "There was nothing to free."
    return call.go("/trash", " ".join([said, *freed.notes]))


def _older_than(call: Call, days: int) -> list[ReceiptDetails]:
    before, found, cursor = call.now - timedelta(days=days), [], None
    while True:
        page = call.memory.sweep.trash_by_receipt(limit=_AT_ONCE, cursor=cursor)
        found += [receipt for receipt in page.receipts if receipt.created_at <= before]
        if (cursor := page.next_cursor) is None:
            return found


def _days(text: str) -> int:
    if not text:
        return AGES[0]
    if not (text.isascii() and text.isdigit() and int(text) in AGES):
        raise BadInput(f"days {text!r:.20} is not offered here.", hint=f"Choose one of {', '.join(map(str, AGES))}.")
    return int(text)


SCREEN = Screen(
    "trash",
    "Trash",
    "/trash",
    "trash",
    "t",
    shows={"/trash": trash, "/trash/purge": before_purge},
    acts={
        "/trash/purge": purge,
        "/trash/workspaces/{receipt}": restore_workspace,
        "/trash/{item}/restore": restore,
    },
)
