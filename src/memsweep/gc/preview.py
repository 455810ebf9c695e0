"""How much a collection would take, without a plan of it."""

from __future__ import annotations

from collections import Counter

from memsweep.gc.collect import CollectorDependencies, look_over
from memsweep.gc.planner import decide, needs_of
from memsweep.model.plan import Totals


def preview(tools: CollectorDependencies, strategy: str) -> Totals:
    """What a plan would name now, without what follows from it; nothing is saved."""
    draft = decide(look_over(tools, needs_of(strategy)), strategy, tools.options(), tools.workspace_id)
    kinds = Counter(item.kind for item in draft.items)
    return Totals(kinds["memory"], kinds["chunk"], kinds["entity"], kinds["relation"])
