"""Plan review: what would go, by cause, with a tick for each item; then to the trash, exactly as it was shown."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.model.plan import why_unusable
from memsweep.report.collector import planned
from memsweep.report.counts import amount
from memsweep.report.reasons import why
from memsweep.web.plan_groups import grouped
from memsweep.web.screen import Call, Screen

PER_PAGE = 500


def review(call: Call) -> Response:
    plan_id = call.part("plan")
    sweep = call.memory.sweep
    plan = sweep.get_plan(plan_id)
    page = call.whole_number("page")
    items = sweep.items(plan_id, offset=(page - 1) * PER_PAGE, limit=PER_PAGE)
    return call.show(
        "plan.html",
        plan=plan,
        groups=grouped(items),
        stats=call.memory.stats(),
        page=page,
        pages=-(-plan.item_count // PER_PAGE),
        elsewhere=plan.item_count - len(items),
        spared=call.session.spared.get(plan_id, frozenset()),
        usable=not why_unusable(plan, None, call.now),
        warnings=planned(plan, (), why, None)["warnings"],
    )


def spare(call: Call) -> Response:
    """Remember what is unticked on one page of a plan, and go to another page of it."""
    plan_id = call.part("plan")
    call.session.spare(plan_id, _spared(call, plan_id))
    to = call.given("page")
    return call.go(f"/plans/{plan_id}", page=to if to.isdigit() else "")


def apply(call: Call) -> Response:
    plan_id = call.part("plan")
    spared = _spared(call, plan_id)
    call.session.spare(plan_id, spared)
    receipt = call.memory.sweep.apply(
        plan_id, confirm=True, exclude=sorted(spared), allow_large=call.given("allow_large") == "yes"
    )
    what = amount(receipt.totals)
    said = f"{what} moved to the trash." if what else "Nothing was left to move: everything had changed since."
    return call.go(f"/receipts/{receipt.id}", said, receipt_id=receipt.id if what else "")


def _spared(call: Call, plan_id: str) -> frozenset[str]:
    """What was unticked before on other pages, and on this one."""
    shown, taken = call.all_given("shown"), call.all_given("take")
    return (call.session.spared.get(plan_id, frozenset()) - shown) | (shown - taken)


SCREEN = Screen(
    "collect",
    "Collect",
    "/collect",
    shows={"/plans/{plan}": review},
    acts={"/plans/{plan}": apply},
    notes={"/plans/{plan}/spare": spare},
)
