"""A receipt: what an operation moved, what it skipped and why, and the way back."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.report.counts import amount
from memsweep.web.screen import Call, Screen


def receipt(call: Call) -> Response:
    return call.show("receipt.html", id=call.part("receipt"))


def undo(call: Call) -> Response:
    done = call.memory.sweep.undo(call.part("receipt"))
    what = amount(done.totals)
    left = f" {len(done.conflicts)} could not come back." if done.conflicts else ""
    return call.go("/history", (f"{what} came back." if what else "There was nothing to bring back.") + left)


SCREEN = Screen(
    "history",
    "History",
    "/history",
    shows={"/receipts/{receipt}": receipt},
    acts={"/receipts/{receipt}/undo": undo},
)
