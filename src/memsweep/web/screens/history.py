"""History: who did what, when, and through which door; two plans side by side; a receipt and the way back."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from starlette.responses import Response

from memsweep.model.plan import ReceiptDetails
from memsweep.model.text import counted
from memsweep.report import amount
from memsweep.web.events import EventLine, event_lines
from memsweep.web.screen import Call, Screen
from memsweep.web.words import day

PER_PAGE = 100
ASKED = ("action", "actor", "since", "until")
ACTIONS = {
    "prune": "Collected",
    "delete": "Deleted",
    "undo": "Undone",
    "purge": "Purged",
    "add": "Remembered",
    "update": "Edited",
    "plan": "Planned",
    "index": "Indexed",
    "merge": "Merged",
    "unmerge": "Split off",
    "pin": "Pinned",
}
DOORS = {"mcp": "Agents (MCP)", "http": "Agents (HTTP)", "cli": "Command line", "page": "This page", "hook": "Hooks"}


def history(call: Call) -> Response:
    asked = {name: call.asked(name) for name in ASKED}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value}
    page = call.memory.sweep.audit_page(limit=PER_PAGE, cursor=call.asked("after") or None, **given)
    lines = event_lines(page.events)
    days = [(name, list(rows)) for name, rows in groupby(lines, lambda line: day(line.at, call.now))]
    return call.show(
        "history.html",
        days=days,
        receipts=_receipts(call, lines),
        before=_plans_before(lines),
        asked=asked,
        actions=ACTIONS,
        doors=DOORS,
        after=call.next_page("/history", page.next_cursor, **asked),
        begin=call.url("/history", **asked) if call.asked("after") else "",
        revision=call.revision,
    )


def _receipts(call: Call, lines: list[EventLine]) -> dict[str, ReceiptDetails]:
    """Return the receipts of these lines; one page of receipts reaches about as far as one of events."""
    wanted, cursor = {line.receipt_id for line in lines if line.receipt_id}, None
    found: dict[str, ReceiptDetails] = {}
    while wanted - found.keys():
        page = call.memory.sweep.receipts(limit=200, cursor=cursor)
        found |= {each.id: each for each in page.receipts}
        oldest = min(line.at for line in lines)
        if (cursor := page.next_cursor) is None or page.receipts[-1].created_at < oldest:
            break
    return found


def _plans_before(lines: list[EventLine]) -> dict[str, str]:
    """For each plan the one before it by the same strategy."""
    before: dict[str, str] = {}
    last: dict[str, str] = {}
    for line in lines:
        if line.action == "plan" and line.plan_id:
            if line.title in last:
                before[last[line.title]] = line.plan_id
            last[line.title] = line.plan_id
    return before


def compare(call: Call) -> Response:
    sweep, earlier, later = call.memory.sweep, call.part("earlier"), call.part("later")
    found = sweep.compare(earlier, later)
    return call.show("compare.html", found=found, earlier=sweep.get_plan(earlier), later=sweep.get_plan(later))


SCREEN = Screen(
    "history",
    "History",
    "/history",
    "clock",
    "h",
    shows={"/history": history, "/plans/{earlier}/compare/{later}": compare},
    on_phone=True,
)


ITEMS_PER_PAGE = 100


def receipt(call: Call) -> Response:
    sweep, page = call.memory.sweep, call.whole_number("page")
    found = sweep.receipt(call.part("receipt"))
    items, total = sweep.trash(receipt_id=found.id, offset=(page - 1) * ITEMS_PER_PAGE, limit=ITEMS_PER_PAGE)
    pages = max(1, -(-total // ITEMS_PER_PAGE))
    return call.show("receipt.html", receipt=found, items=items, total=total, page=page, pages=pages)


def undo(call: Call) -> Response:
    receipt_id = call.part("receipt")
    done = call.memory.sweep.undo(receipt_id)
    what = amount(done.totals)
    said = [f"{what} came back." if what else ""]
    said += [f"{_changes(done.changed_back)} back as it was." if done.changed_back else ""]
    given = amount(done.given_back)
    said += [f"What was taken back from {given} is there again." if given else ""]
    said += [f"{len(done.conflicts)} could not come back: {done.conflicts[0][1]}" if done.conflicts else ""]
    return call.go("/history", " ".join(filter(None, said)) or "There was nothing to bring back.")


def _changes(number: int) -> str:
    return "One memory is" if number == 1 else f"{counted(number, 'memory', 'memories')} are each"


RECEIPT = Screen(
    "history",
    "History",
    "/history",
    shows={"/receipts/{receipt}": receipt},
    acts={"/receipts/{receipt}/undo": undo},
)
