"""A receipt: what an operation moved, what became of it, and the way back."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.model.text import counted
from memsweep.report.counts import amount
from memsweep.web.screen import Call, Screen

PER_PAGE = 100


def receipt(call: Call) -> Response:
    sweep, page = call.memory.sweep, call.whole_number("page")
    found = sweep.receipt(call.part("receipt"))
    items, total = sweep.trash(receipt_id=found.id, offset=(page - 1) * PER_PAGE, limit=PER_PAGE)
    pages = max(1, -(-total // PER_PAGE))
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


SCREEN = Screen(
    "history",
    "History",
    "/history",
    shows={"/receipts/{receipt}": receipt},
    acts={"/receipts/{receipt}/undo": undo},
)
