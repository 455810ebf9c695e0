"""Collect: every strategy with what it finds now. Nothing is saved until one of them is reviewed."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from memsweep.errors import BadInput
from memsweep.model.plan import Totals
from memsweep.model.strategies import SECRETS
from memsweep.web.screen import Call, Screen
from memsweep.web.strategies import BY_NAME, OFFERED, Offered


@dataclass(frozen=True, slots=True)
class Find:
    """A strategy, and what it would take; None where nobody has looked yet."""

    offered: Offered
    totals: Totals | None

    @property
    def count(self) -> int:
        found = self.totals
        return 0 if found is None else found.memories or found.entities + found.relations + found.chunks

    @property
    def is_clean(self) -> bool:
        return self.totals is not None and not self.count


def collect(call: Call) -> Response:
    return call.show("collect.html", stats=call.memory.stats(), revision=call.revision)


def found(call: Call) -> Response:
    """What would go, strategy by strategy; a part of a page, which comes after the rest of it."""
    stats = call.memory.stats()
    looked = call.asked("look")
    finds = [_find(call, each, looked) for each in OFFERED] if stats.total_memories or stats.total_entities else []
    return call.show("found.html", finds=finds, stats=stats)


def _find(call: Call, offered: Offered, looked: str) -> Find:
    name = f"preview {offered.name}"
    if offered.name == SECRETS or (offered.on_request and looked != offered.name and not call.page.is_kept(call, name)):
        return Find(offered, None)
    preview = call.memory.sweep.preview
    return Find(offered, call.page.kept(call, name, lambda: preview(offered.name)))


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
