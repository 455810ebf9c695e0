"""Collect: every strategy with what it finds now, and the review of a plan, with a tick for each item."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from memsweep.errors import BadInput
from memsweep.model.plan import Preview, Receipt
from memsweep.model.strategies import SECRETS
from memsweep.report import amount
from memsweep.report.memory import places
from memsweep.web.plan_sections import BY_NAME, OFFERED, Offered
from memsweep.web.plan_view import PER_PAGE, plan_values
from memsweep.web.screen import Call, Screen


@dataclass(frozen=True, slots=True)
class StrategyFind:
    """A strategy, and what it would take; None where nobody has looked yet."""

    offered: Offered
    preview: Preview | None

    @property
    def count(self) -> int:
        """In things that a person would count: memories, or else what is no memory."""
        return 0 if self.preview is None else self.preview.totals.memories or self.preview.item_count

    @property
    def is_clean(self) -> bool:
        return self.preview is not None and not self.count and not self.preview.problem


def collect(call: Call) -> Response:
    return call.show("collect.html", stats=call.memory.stats(), revision=call.revision)


def found(call: Call) -> Response:
    """Show what would go, strategy by strategy; a part of a page, which comes after the rest of it."""
    found = finds(call)
    return call.show("found.html", finds=found, stats=call.memory.stats(), sums=_sums(found))


def finds(call: Call) -> list[StrategyFind]:
    quick = [each.name for each in OFFERED if not each.on_request]
    known = call.page.kept(call, "preview", lambda: call.memory.sweep.preview(*quick, limit=0))
    previews = {each.strategy: each for each in known}
    return [StrategyFind(each, previews.get(each.name) or _asked_for(call, each)) for each in OFFERED]


def _asked_for(call: Call, offered: Offered) -> Preview | None:
    """Return the preview of a slow strategy if somebody asked for it, or if it is known and nothing changed."""
    name = f"preview {offered.name}"
    if offered.name == SECRETS or (call.asked("look") != offered.name and not call.page.is_kept(call, name)):
        return None
    made: list[Preview] = call.page.kept(call, name, lambda: call.memory.sweep.preview(offered.name, limit=0))
    return made[0]


@dataclass(frozen=True, slots=True)
class Sums:
    """Of all strategies together, and the first one that finds anything."""

    memories: int
    names: int
    first: str


def _sums(found: list[StrategyFind]) -> Sums:
    totals = [each.preview.totals for each in found if each.preview]
    first = next((each.offered.name for each in found if each.count), "")
    return Sums(sum(each.memories for each in totals), sum(each.entities for each in totals), first)


def make_plan(call: Call) -> Response:
    strategy = call.given("strategy")
    if strategy not in BY_NAME:
        raise BadInput(f"strategy {strategy!r:.60} is not offered here.", hint="Choose one of the list.")
    plan = call.memory.sweep.plan(strategy)
    return call.go(f"/plans/{plan.id}")


SCREEN = Screen(
    "collect",
    "Collect",
    "/collect",
    "sweep",
    "c",
    shows={"/collect": collect, "/collect/found": found},
    acts={"/collect": make_plan},
    on_phone=True,
)


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


PLAN = Screen(
    "collect",
    "Collect",
    "/collect",
    shows={"/plans/{plan}": review},
    acts={"/plans/{plan}": apply},
    notes={"/plans/{plan}/turn": turn},
)
