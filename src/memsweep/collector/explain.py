"""Why one thing is kept or is garbage: what must be seen for it is read, the rules judge, words are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from memsweep.collector.collect import CollectorDependencies, look_over
from memsweep.collector.history import history_of, verdict_on_lost
from memsweep.collector.item_survey import around_entity, around_memory, is_kept
from memsweep.collector.strategies import STRATEGIES
from memsweep.collector.verdict import judge, mentioned
from memsweep.errors import NotFound
from memsweep.model.audit import AuditEvent
from memsweep.model.plan import PlanItem, PlanView, Verdict
from memsweep.store import plans

if TYPE_CHECKING:
    from memsweep.store.items import Items


def explain(tools: CollectorDependencies, item_id: str) -> tuple[Verdict, list[PlanView], list[AuditEvent]]:
    """Why a memory or an entity is alive or garbage, the way to what keeps it, and its history."""
    with tools.store.reading() as rows:
        found = rows.items.find(item_id)
    history = history_of(tools.store, item_id, None if found is None else found[2])
    if found is None:
        return _lost(tools, item_id, history), [], history
    kind, key, receipt_id = found
    if receipt_id is not None:
        said = f"It is in the trash; undo_prune with {receipt_id} or recover_memory with {item_id} brings it back."
        return Verdict(item_id, kind, False, (said,)), [], history
    options = tools.options()
    with tools.store.reading() as rows:
        if kind == "entity" and (own := is_kept(rows.items, key, options, tools.workspace_id)) is not None:
            verdict = mentioned(own, key, item_id, options, _id_of(rows.items))
            return verdict, plans.views(rows.items, [PlanItem("entity", key, 0, "")]), history
        seen = around_memory(rows.items, key) if kind == "memory" else around_entity(rows.items, key, options)
    survey = seen or look_over(tools, {"ways"}.union(*(strategy.needs for strategy in STRATEGIES.values())))
    with tools.store.reading() as rows:
        verdict = judge(survey, kind, key, item_id, options, tools.workspace_id, _id_of(rows.items))
        way = [PlanItem("entity", step, 0, "") for step in verdict.path]
        verdict = replace(verdict, because=(*verdict.because, *_relations_on(rows.items, verdict.path)))
        return verdict, plans.views(rows.items, way), history


def _lost(tools: CollectorDependencies, item_id: str, history: Sequence[AuditEvent]) -> Verdict:
    tombstones = {each.memory_id for each in tools.store.tombstones()}
    if (verdict := verdict_on_lost(item_id, history, tombstones)) is None:
        raise NotFound(f"{item_id!r:.80} is neither a memory nor an entity of workspace {tools.workspace_id!r}.")
    return verdict


def _id_of(rows: Items) -> Callable[[int], str]:
    return lambda memory: plans.views(rows, [PlanItem("memory", memory, 0, "")])[0].id


def _relations_on(rows: Items, path: Sequence[int]) -> list[str]:
    """The relations that lead from one entity of a way to the next, in a sentence."""
    steps = list(pairwise(path))
    if not steps:
        return []
    between: dict[frozenset[int], int] = {}
    for relation, left, right in sorted(rows.around(path).relations):
        between.setdefault(frozenset((left, right)), relation)
    keys = [between[frozenset(step)] for step in steps if frozenset(step) in between]
    names = [repr(view.name) for view in plans.views(rows, [PlanItem("relation", key, 0, "") for key in keys])]
    return [f"The way there: {', '.join(names)}."] if names else []
