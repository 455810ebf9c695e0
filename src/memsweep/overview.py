"""The operations on the graph of a workspace as a whole; `Memory` has them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memsweep.knowledge import GraphOperations

if TYPE_CHECKING:
    from memsweep.graph.atlas import Queried, Surveying
    from memsweep.graph.building import Built
    from memsweep.model.atlas import Briefing, Communities, Doubt, Exported, GraphStatus, Imported


class GraphOverview(GraphOperations):
    """The whole graph: queried, surveyed, built from text, carried away and taken in."""

    def query_graph(
        self,
        entities: str | Iterable[str],
        *,
        hops: int = 2,
        min_weight: float = 0.0,
        relation_types: Iterable[str] | None = None,
        as_of: str | datetime | None = None,
        include_ended: bool = False,
        limit: int = 50,
    ) -> Queried:
        """Outwards from some entities by facts that hold now, or at a date, or (with `include_ended`) ever held."""
        from memsweep.graph import atlas
        from memsweep.model.times import parse_time

        return atlas.query(
            self._surveying(),
            [entities] if isinstance(entities, str) else list(entities),
            hops=hops,
            min_weight=min_weight,
            relation_types=None if relation_types is None else list(relation_types),
            as_of=None if as_of in (None, "") else parse_time(as_of, "as_of", end_of_day=True),
            include_ended=include_ended,
            limit=limit,
        )

    def graph_status(self) -> GraphStatus:
        """Counts by type, components, density, orphans, and how far facts have faded."""
        from memsweep.graph import atlas

        return atlas.graph_status(self._surveying())

    def validate_graph(self) -> list[Doubt]:
        """Generic names, near duplicates, dangling facts, contradictions."""
        from memsweep.graph import atlas

        return atlas.graph_doubts(self._surveying())

    def graph_communities(self, *, min_size: int = 2) -> Communities:
        """Entities that have more to do with each other than with the rest."""
        from memsweep.graph import atlas

        return atlas.graph_communities(self._surveying(), min_size)

    def graph_context(self, *, limit: int = 5) -> Briefing:
        """What to know before work begins: recent, central, contradictory, stale."""
        from memsweep.graph import atlas

        return atlas.briefing(self._surveying(), limit)

    def build_graph(self, text: str, options: Mapping[str, Any] | None = None) -> Built:
        """Read names and facts out of a text by rule; a fact that is known already grows by a mention."""
        from memsweep.graph import atlas
        from memsweep.graph.building import Named, checked_text, make_options
        from memsweep.remember.names import find_names

        names = [Named(found.name, found.evidence > 0) for found in find_names([checked_text(text)])]
        writes = not make_options(options).dry_run
        return atlas.build(self._surveying(write=writes), text, names, options)

    def dump_graph(self, format: str = "json") -> str:
        """The whole graph as text: json, graphml, cytoscape or cypher."""
        from memsweep.graph import atlas

        return atlas.dump_text(self._surveying(), format)

    def load_graph(self, text: str, format: str | None = None) -> Imported:
        """Take in what `dump_graph` gave, beside what is there; the format is seen from the text."""
        from memsweep.graph import atlas

        dump = atlas.read_graph(text, format)  # before a workspace is made for it
        return atlas.load(self._surveying(write=True), dump)

    def export_graph(self, path: str | os.PathLike[str], format: str | None = None, *, force: bool = False) -> Exported:
        """The whole graph into a file; the format is that of its ending, or JSON."""
        from memsweep.graph import atlas

        return atlas.export(self._surveying(), path, format, force=force)

    def import_graph(self, path: str | os.PathLike[str], format: str | None = None) -> Imported:
        """Take in a file that `export_graph` wrote, or another program's GraphML or Cytoscape JSON."""
        from memsweep.graph import atlas

        return self.load_graph(atlas.read_export(path), format)

    def _surveying(self, *, write: bool = False) -> Surveying:
        from memsweep.graph.atlas import Surveying

        graph = self._graphing(write=write)
        return Surveying(graph, self._app.engine.open(self.workspace_id).atlas)
