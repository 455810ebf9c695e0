"""Plan review: what would go, by cause, with a tick for each item; then to the trash, exactly as it was shown."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.model.plan import Receipt
from memsweep.model.strategies import SECRETS
from memsweep.report.counts import amount
from memsweep.report.redactions import places
from memsweep.web.plan_view import PER_PAGE, plan_values
from memsweep.web.screen import Call, Screen


def review(call: Call) -> Response:
    plan_id = call.part("plan")
    spared = call.session.spared.get(plan_id, frozenset())
    page = call.whole_number("page")
    values = plan_values(call.memory, plan_id, page=page, per_page=PER_PAGE, spared=spared, now=call.now)
    return call.show("plan.html", **values)


def turn(call: Call) -> Response:
    """Remember what is unticked on one page of a plan, and go to another page of it."""
    plan_id, page = call.part("plan"), call.given("page")
    call.session.spare(plan_id, _spared(call, plan_id))
    return call.go(f"/plans/{plan_id}", page=page if page.isascii() and page.isdigit() else "")


def apply(call: Call) -> Response:
    plan_id = call.part("plan")
    spared = _spared(call, plan_id)
    call.session.spare(plan_id, spared)
    receipt = call.memory.sweep.apply(
        plan_id, confirm=True, exclude=sorted(spared), allow_large=call.given("allow_large") == "yes"
    )
    return call.go(
        f"/receipts/{receipt.id}", _summary(receipt), receipt_id=receipt.id if amount(receipt.totals) else ""
    )


def _summary(receipt: Receipt) -> str:
    what = amount(receipt.totals)
    if receipt.strategy == SECRETS:
        return f"Redacted secrets in {places(receipt.totals)}." if what else "Nothing was left to redact."
    return f"Moved {what} to the trash." if what else "Nothing was moved: all of it had changed since."


def _spared(call: Call, plan_id: str) -> frozenset[str]:
    """Return all that was unticked on other pages, and on this one."""
    shown, taken = call.all_given("shown"), call.all_given("take")
    return (call.session.spared.get(plan_id, frozenset()) - shown) | (shown - taken)


SCREEN = Screen(
    "collect",
    "Collect",
    "/collect",
    shows={"/plans/{plan}": review},
    acts={"/plans/{plan}": apply},
    notes={"/plans/{plan}/turn": turn},
)
