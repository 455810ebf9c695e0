"""The knowledge graph."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from memsweep.app import App
from memsweep.report import graph as report
from memsweep.server.arguments import BATCH, Tier, Time, looks_like
from memsweep.server.tools import ToolRow

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
    ) -> report.RelateAnswer:
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
    ) -> report.ReinforceAnswer:
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
    ) -> report.EntitiesAnswer:
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
    ) -> report.RelatedAnswer:
        """Find what is connected to an entity (name or id) by current facts, nearest first."""
        found = app.memory(workspace_id).graph.related(entity, depth=depth, limit=limit, relation_types=relation_types)
        return report.neighbourhood(
            found.start, found.entities, found.walk.distance, found.walk.edges, found.facts, found.contradictions
        )

    return [
        ToolRow(graph_relate, repeats=True, quick=True),
        ToolRow(graph_reinforce, profile="full"),
        ToolRow(graph_entities, reads=True, profile="full"),
        ToolRow(get_related, reads=True, profile="full"),
    ]
