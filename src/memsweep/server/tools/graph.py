"""The knowledge graph: facts, what fades and is merged, and the graph as a whole."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from memsweep.app import App
from memsweep.collector.collect import refuse_other_strategy
from memsweep.graph.exchange import FORMS
from memsweep.graph.whole_graph import inside
from memsweep.report import Answer
from memsweep.report import graph as report
from memsweep.server.consent import AskedRemoval
from memsweep.server.tools import BATCH, BUILD_OPTIONS, Tier, Time, ToolRow, looks_like
from memsweep.server.tools.collector import plan_question

Batch = Annotated[dict[str, Any] | None, looks_like(BATCH, "many at once")]
SortBy = Annotated[str, looks_like({"enum": ["confidence", "last_seen", "relations", "mentions", "name"]})]
Source = Annotated[str, Field(description="the memory_id it comes from")]
Replaces = Annotated[bool, Field(description="end the other facts with this subject and relation")]


def graph_tools(app: App) -> list[ToolRow]:
    def graph_relate(
        from_entity: str | None = None,
        relation: str | None = None,
        to_entity: str | None = None,
        from_type: str | None = None,
        to_type: str | None = None,
        weight: float = 1.0,
        valid_at: Time = None,
        replaces: Replaces = False,
        source: Source = "",
        batch: Batch = None,
        workspace_id: str = "",
        tier: Tier = "",
    ) -> Answer:
        """State a fact between two things (Ada WORKS_ON Engine), or a batch of them, all or nothing. A known fact grows
        stronger; replaces=true ends what it replaces. Read facts with graph_query."""
        memory = app.memory(workspace_id)
        if batch is not None:
            return report.related_facts(memory.graph.relate_many(batch, tier=tier))
        result = memory.graph.relate(
            from_entity or "",
            relation or "",
            to_entity or "",
            from_type=from_type,
            to_type=to_type,
            weight=weight,
            valid_at=valid_at,
            replaces=replaces,
            source=source,
            tier=tier,
        )
        return report.related_facts(result)

    def graph_reinforce(
        from_entity: str,
        to_entity: str,
        relation: str,
        kind: Literal["confirm", "correct"] = "confirm",
        amount: float | None = None,
        reason: str = "",
        workspace_id: str = "",
    ) -> Answer:
        """Confirm a fact (+0.15) or correct it (-0.3)."""
        memory = app.memory(workspace_id)
        return report.reinforced(
            memory.graph.reinforce(from_entity, relation, to_entity, kind=kind, amount=amount, reason=reason)
        )

    def graph_entities(
        search: str | None = None,
        type: str | None = None,
        min_confidence: float = 0.0,
        sort_by: SortBy = "confidence",
        limit: int = 20,
        workspace_id: str = "",
    ) -> Answer:
        """List entities by name and type. What is known about one: graph_query."""
        found, total = app.memory(workspace_id).graph.entities(
            search, entity_type=type, min_confidence=min_confidence, sort_by=sort_by, limit=limit
        )
        return report.entities(found, total)

    def get_related(
        entity: str,
        depth: int = 1,
        limit: int = 20,
        relation_types: list[str] | None = None,
        workspace_id: str = "",
    ) -> Answer:
        """Find what is connected to an entity (name or id) by current facts, nearest first."""
        found = app.memory(workspace_id).graph.related(entity, depth=depth, limit=limit, relation_types=relation_types)
        return report.neighbourhood(found)

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
    ) -> Answer:
        """Find facts and entities that have faded away, as a plan; nothing is removed. Then call it with that plan_id,
        mode=execute (or dry_run=false) and confirm=true to move them to the trash. undo brings them back."""
        memory = app.memory(workspace_id)
        thresholds: dict[str, Any] = {"node_threshold": node_threshold, "edge_threshold": edge_threshold}
        thresholds |= {"include_orphans": include_orphans, "max_age_days": max_age_days}
        if plan_id is not None:
            refuse_other_strategy(memory.sweep.get_plan(plan_id), "decayed", "prune_memory applies it.")
        if _previews(mode, dry_run):
            plan = memory.sweep.get_plan(plan_id) if plan_id else memory.graph.plan_prune(**thresholds)
            return report.previewed(plan, memory.sweep.items(plan, limit=report.SHOWN))
        if plan_id is not None:
            receipt = memory.sweep.apply(plan_id, confirm=confirm, allow_large=allow_large)
        else:
            receipt = memory.graph.prune(**thresholds, confirm=confirm, allow_large=allow_large)
        return report.executed(receipt, memory.sweep.items(receipt.plan_id or "", limit=report.SHOWN))

    def graph_decay(dry_run: bool = True, workspace_id: str = "") -> Answer:
        """Show how far facts have faded since they were last confirmed; dry_run=false also stores the values."""
        return report.decayed(app.memory(workspace_id).graph.decay(dry_run=dry_run), dry_run=dry_run)

    def merge_entities(
        ids: Ids = (), into: str = "", dry_run: bool = True, plan_id: PlanId = None, workspace_id: str = ""
    ) -> Answer:
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
    ) -> Answer:
        """Split a new entity off another, with chosen relations and its mentions in chosen memories. undo_prune takes
        it back."""
        memory = app.memory(workspace_id)
        return report.split(
            memory.graph.unmerge(
                entity, name, entity_type=type, relations=relation_ids, memories=memory_ids, dry_run=dry_run
            )
        )

    def build_graph(text: str, options: Options = None, workspace_id: str = "") -> Answer:
        """Extract names and facts from a text by rules. A line `A (Type) -[RELATION]-> B (Type)` is read literally."""
        return report.built(app.memory(workspace_id).graph.build(text, options))

    def graph_query(
        entities: list[str],
        hops: int = 2,
        min_weight: float = 0.0,
        relation_types: list[str] | None = None,
        as_of: Time = None,
        include_ended: bool = False,
        limit: int = 50,
        workspace_id: str = "",
    ) -> Answer:
        """Read what is known about entities (names or ids): facts that hold now, or held at a date (as_of), up to some
        hops away. For texts, use search_memory."""
        found = app.memory(workspace_id).graph.query(
            entities,
            hops=hops,
            min_weight=min_weight,
            relation_types=relation_types,
            as_of=as_of,
            include_ended=include_ended,
            limit=limit,
        )
        return report.queried(found)

    def graph_status(workspace_id: str = "") -> Answer:
        """Counts by type, components, density, orphans, and how far facts have faded."""
        return report.status(app.memory(workspace_id).graph.status())

    def graph_validate(limit: int = 20, workspace_id: str = "") -> Answer:
        """Find contradictions, dangling facts, near duplicates and generic names."""
        return report.validated(app.memory(workspace_id).graph.validate(), max(0, limit))

    def graph_communities(min_size: int = 2, limit: int = 10, workspace_id: str = "") -> Answer:
        """Find groups of closely connected entities."""
        return report.communities(app.memory(workspace_id).graph.communities(min_size=min_size), max(0, limit))

    def graph_context(limit: int = 5, workspace_id: str = "") -> Answer:
        """A briefing before you start work: recent facts, central entities, contradictions, stale facts."""
        return report.context(app.memory(workspace_id).graph.briefing(limit=limit))

    def export_graph(
        format: Format = "json", file: File = None, overwrite: bool = False, workspace_id: str = ""
    ) -> Answer:
        """Write the whole graph to a file in the export folder."""
        memory = app.memory(workspace_id)
        target = inside(app.export_folder(), file or f"graph{FORMS[format].ending}")
        return report.exported(memory.graph.export_file(target, format, force=overwrite))

    def import_graph(
        file: File = None, content: Content = None, format: Format | None = None, workspace_id: str = ""
    ) -> Answer:
        """Add an exported graph to this one, from a file in the export folder or from its content."""
        memory = app.memory(workspace_id)
        if content is not None:
            text = content if isinstance(content, str) else json.dumps(content)
            return report.imported(memory.graph.load(text, format))
        return report.imported(memory.graph.import_file(inside(app.export_folder(), file or ""), format))

    return [
        ToolRow(graph_relate, repeats=True, quick=True),
        ToolRow(graph_reinforce, profile="full"),
        ToolRow(graph_entities, reads=True, profile="full"),
        ToolRow(get_related, reads=True, profile="full"),
        ToolRow(graph_prune, destroys=True, asks=prune_asks),
        ToolRow(graph_decay, repeats=True, profile="full"),
        ToolRow(merge_entities, profile="full"),
        ToolRow(unmerge_entity, profile="full"),
        ToolRow(build_graph, profile="full"),
        ToolRow(graph_query, reads=True),
        ToolRow(graph_status, reads=True, profile="full"),
        ToolRow(graph_validate, reads=True, profile="full"),
        ToolRow(graph_communities, reads=True, profile="full"),
        ToolRow(graph_context, reads=True, profile="full"),
        ToolRow(export_graph, profile="full"),
        ToolRow(import_graph, repeats=True, profile="full"),
    ]


Ids = list[str] | tuple[str, ...]
PlanId = Annotated[str | None, Field(description="apply exactly this plan")]


def _previews(mode: str, dry_run: bool | None) -> bool:
    """`dry_run` is the word of every other tool; `mode` is what this one began with."""
    return mode == "preview" if dry_run is None else dry_run


Format = Literal["json", "graphml", "cytoscape", "cypher"]
Options = Annotated[dict[str, Any] | None, looks_like(BUILD_OPTIONS)]
# JSON may arrive as text or as the object itself.
Content = Annotated[str | dict[str, Any] | None, Field(description="what export_graph wrote")]
File = Annotated[str | None, Field(description="a file name in the export folder")]
