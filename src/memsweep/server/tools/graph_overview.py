"""The knowledge graph as a whole."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from memsweep.app import App
from memsweep.graph.exchange import FORMS
from memsweep.graph.whole_graph import inside
from memsweep.report import whole_graph as report
from memsweep.server.arguments import BUILD_OPTIONS, Time, looks_like
from memsweep.server.tools import ToolRow

Format = Literal["json", "graphml", "cytoscape", "cypher"]
Options = Annotated[dict[str, Any] | None, looks_like(BUILD_OPTIONS)]
# JSON may arrive as text or as the object itself.
Content = Annotated[str | dict[str, Any] | None, Field(description="what export_graph wrote")]
File = Annotated[str | None, Field(description="a file name in the export folder")]


def graph_overview_tools(app: App) -> list[ToolRow]:
    def build_graph(text: str, options: Options = None, workspace_id: str = "") -> report.BuildAnswer:
        """Extract names and facts from a text by rules. A line `A (Type) -[RELATION]-> B (Type)` is read literally."""
        result = app.memory(workspace_id).graph.build(text, options)
        return report.built(result.batch, result.outcome)

    def graph_query(
        entities: list[str],
        hops: int = 2,
        min_weight: float = 0.0,
        relation_types: list[str] | None = None,
        as_of: Time = None,
        include_ended: bool = False,
        limit: int = 50,
        workspace_id: str = "",
    ) -> report.QueryAnswer:
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
        return report.queried(found.starts, found.entities, found.walk.distance, found.walk.edges)

    def graph_status(workspace_id: str = "") -> report.GraphStatusAnswer:
        """Counts by type, components, density, orphans, and how far facts have faded."""
        return report.status(app.memory(workspace_id).graph.status())

    def graph_validate(limit: int = 20, workspace_id: str = "") -> report.ValidateAnswer:
        """Find contradictions, dangling facts, near duplicates and generic names."""
        return report.validated(app.memory(workspace_id).graph.validate(), max(0, limit))

    def graph_communities(min_size: int = 2, limit: int = 10, workspace_id: str = "") -> report.CommunitiesAnswer:
        """Find groups of closely connected entities."""
        return report.communities(app.memory(workspace_id).graph.communities(min_size=min_size), max(0, limit))

    def graph_context(limit: int = 5, workspace_id: str = "") -> report.ContextAnswer:
        """A briefing before you start work: recent facts, central entities, contradictions, stale facts."""
        return report.context(app.memory(workspace_id).graph.briefing(limit=limit))

    def export_graph(
        format: Format = "json", file: File = None, overwrite: bool = False, workspace_id: str = ""
    ) -> report.ExportAnswer:
        """Write the whole graph to a file in the export folder."""
        memory = app.memory(workspace_id)
        target = inside(app.export_folder(), file or f"graph{FORMS[format].ending}")
        return report.exported(memory.graph.export_file(target, format, force=overwrite))

    def import_graph(
        file: File = None, content: Content = None, format: Format | None = None, workspace_id: str = ""
    ) -> report.ImportAnswer:
        """Add an exported graph to this one, from a file in the export folder or from its content."""
        memory = app.memory(workspace_id)
        if content is not None:
            text = content if isinstance(content, str) else json.dumps(content)
            return report.imported(memory.graph.load(text, format))
        return report.imported(memory.graph.import_file(inside(app.export_folder(), file or ""), format))

    return [
        ToolRow(build_graph, profile="full"),
        ToolRow(graph_query, reads=True),
        ToolRow(graph_status, reads=True, profile="full"),
        ToolRow(graph_validate, reads=True, profile="full"),
        ToolRow(graph_communities, reads=True, profile="full"),
        ToolRow(graph_context, reads=True, profile="full"),
        ToolRow(export_graph, profile="full"),
        ToolRow(import_graph, repeats=True, profile="full"),
    ]
