"""A collection of several strategies in steps, without a person: looked at whole before the first step moves anything.

The steps take only what that look has named, so that together they cannot take more than was judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from memsweep.collector import collect
from memsweep.collector.collect import gone_within_a_day
from memsweep.collector.planner import KINDS, Part, decide_together, needs_of, refuse_over_cap
from memsweep.collector.selection import first_look, missing_files, select
from memsweep.model.plan import Kind, Receipt, Totals
from memsweep.store.paused import gc_paused

if TYPE_CHECKING:
    from memsweep.collector.collect import CollectorDependencies
    from memsweep.model.plan import Selection
    from memsweep.store.changes import Changes


@dataclass(frozen=True, slots=True)
class Outlook:
    """The items that a run would take, and those that are there, at one moment."""

    items: frozenset[tuple[Kind, int]] = frozenset()
    going: Totals = field(default_factory=Totals)
    there: Mapping[Kind, int] = field(default_factory=dict)
    gone: Totals = field(default_factory=Totals)
    """What went in the 24 hours before."""
    named_by: Mapping[str, int] = field(default_factory=dict)
    """How many things each strategy names by itself; one may be named by several."""


def look_ahead(tools: CollectorDependencies, strategies: Sequence[str], ttl_days: float | None) -> Outlook:
    """All that these strategies would take together; nothing is planned or moved."""
    needs = frozenset(need for strategy in strategies for need in needs_of(strategy))
    places = list(tools.store.code_paths()) if "files" in needs else []
    missing, seen = missing_files(places), first_look(places)
    options = tools.options(ttl_days)
    with tools.store.changing(tools.apply_seconds) as tx:
        with gc_paused():
            survey = tx.items.survey(needs, missing)
            draft, named_by = decide_together(survey, strategies, options, tools.workspace_id)
        going = select(tx.items, draft.items, seen.kept(draft.items)).going.totals
        items = frozenset((item.kind, item.key) for item in draft.items)
        return Outlook(items, going, tx.items.count(KINDS), gone_within_a_day(tx, tools.clock()), named_by)


def prune_in_steps(
    tools: CollectorDependencies,
    strategies: Sequence[str],
    step: int,
    ttl_days: float | None = None,
    *,
    outlook: Outlook,
    allow_large: bool = False,
) -> Iterator[Receipt]:
    """Apply each strategy again and again, about `step` things at a time, until nothing of the outlook is left."""
    taken = Totals()
    part = Part(step, outlook.items)
    for strategy in strategies:
        while outlook.named_by[strategy]:
            check = None if allow_large else partial(_refuse_more, outlook, taken)
            receipt = collect.prune_part(tools, strategy, part, ttl_days, check)
            if receipt.totals == Totals():
                break
            taken = taken.plus(receipt.totals)
            yield receipt


def _refuse_more(outlook: Outlook, taken: Totals, tx: Changes, going: Selection) -> None:
    """Others may have changed the graph since the look; what the steps take together stays below the cap."""
    refuse_over_cap(taken.plus(going.totals), outlook.there, KINDS, outlook.gone)
