"""Facts that fade, and entities that are merged."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from memsweep.app import App
from memsweep.collector.collect import refuse_other_strategy
from memsweep.report import upkeep as report
from memsweep.server.consent import AskedRemoval
from memsweep.server.plans import plan_question
from memsweep.server.tools import ToolRow

Ids = list[str] | tuple[str, ...]
PlanId = Annotated[str | None, Field(description="apply exactly this plan")]


def graph_upkeep_tools(app: App) -> list[ToolRow]:
    def prune_asks(
        workspace_id: str,
        mode: str,
        dry_run: bool | None,
        confirm: bool,
        plan_id: str | None,
        node_threshold: float | None,
        edge_threshold: float | None,
        include_orphans: bool,
        max_age_days: float | None,
    ) -> AskedRemoval | None:
        memory = app.memory(workspace_id)
        make = partial(
            memory.graph.plan_prune,
            node_threshold=node_threshold,
            edge_threshold=edge_threshold,
            include_orphans=include_orphans,
            max_age_days=max_age_days,
        )
        previews = _previews(mode, dry_run) or not confirm
        return None if previews else AskedRemoval(partial(plan_question, memory, plan_id, make))

    def graph_prune(
        mode: Literal["preview", "execute"] = "preview",
        dry_run: bool | None = None,
        node_threshold: float | None = None,
        edge_threshold: float | None = None,
        include_orphans: bool = True,
        max_age_days: float | None = None,
        plan_id: PlanId = None,
        confirm: bool = False,
        allow_large: bool = False,
        workspace_id: str = "",
    ) -> report.GraphPruneAnswer:
        """Find facts and entities that have faded away, as a plan; nothing is removed. Then call it with that plan_id,
        mode=execute (or dry_run=false) and confirm=true to move them to the trash. undo brings them back."""
        memory = app.memory(workspace_id)
        thresholds: dict[str, Any] = {"node_threshold": node_threshold, "edge_threshold": edge_threshold}
        thresholds |= {"include_orphans": include_orphans, "max_age_days": max_age_days}
        if plan_id is not None:
            refuse_other_strategy(memory.sweep.get_plan(plan_id), "decayed", "prune_memory applies it.")
        if _previews(mode, dry_run):
            plan = memory.sweep.get_plan(plan_id) if plan_id else memory.graph.plan_prune(**thresholds)
            return report.previewed(plan, memory.sweep.items(plan.id, limit=report.SHOWN))
        if plan_id is not None:
            receipt = memory.sweep.apply(plan_id, confirm=confirm, allow_large=allow_large)
        else:
            receipt = memory.graph.prune(**thresholds, confirm=confirm, allow_large=allow_large)
        return report.executed(receipt, memory.sweep.items(receipt.plan_id or "", limit=report.SHOWN))

    def graph_decay(dry_run: bool = True, workspace_id: str = "") -> report.DecayAnswer:
        """Show how far facts have faded since they were last confirmed; dry_run=false also stores the values."""
        return report.decayed(app.memory(workspace_id).graph.decay(dry_run=dry_run), dry_run=dry_run)

    def merge_entities(
        ids: Ids = (), into: str = "", dry_run: bool = True, plan_id: PlanId = None, workspace_id: str = ""
    ) -> report.MergeAnswer:
        """Merge several entities into one; their old names still find it. undo_prune takes them apart again."""
        memory = app.memory(workspace_id)
        if not ids and plan_id is None:
            return report.suggested(memory.graph.validate())
        if dry_run:
            return report.merged(memory.graph.plan_merge(ids, into), dry_run=True)
        return report.merged(memory.graph.merge(ids, into, plan_id=plan_id), dry_run=False)

    def unmerge_entity(
        entity: str,
        name: str,
        type: str | None = None,
        relation_ids: Ids = (),
        memory_ids: Ids = (),
        dry_run: bool = False,
        workspace_id: str = "",
    ) -> report.SplitAnswer:
        """Split a new entity off another, with chosen relations and its mentions in chosen memories. undo_prune takes
        it back."""
        memory = app.memory(workspace_id)
        return report.split(
            memory.graph.unmerge(
                entity, name, entity_type=type, relations=relation_ids, memories=memory_ids, dry_run=dry_run
            )
        )

    return [
        ToolRow(graph_prune, destroys=True, asks=prune_asks),
        ToolRow(graph_decay, repeats=True, profile="full"),
        ToolRow(merge_entities, profile="full"),
        ToolRow(unmerge_entity, profile="full"),
    ]


def _previews(mode: str, dry_run: bool | None) -> bool:
    """`dry_run` is the word of every other tool; `mode` is what this one began with."""
    return mode == "preview" if dry_run is None else dry_run
