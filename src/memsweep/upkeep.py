"""The operations that keep the graph of a workspace in order; `Memory` has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from memsweep.overview import GraphOverview

if TYPE_CHECKING:
    from memsweep.gc.collect import Collecting
    from memsweep.gc.strategies.rule import Fading
    from memsweep.model.graph import Decayed, Merged, Split
    from memsweep.model.plan import Plan, Receipt


class GraphUpkeep(GraphOverview):
    """What fades: shown, stored, pruned; what is one: merged, and taken apart."""

    if TYPE_CHECKING:

        @property
        def _collecting(self) -> Collecting: ...

    def plan_graph_prune(
        self,
        *,
        node_threshold: float | None = None,
        edge_threshold: float | None = None,
        include_orphans: bool = True,
        max_age_days: float | None = None,
    ) -> Plan:
        """Find the facts that have faded away, and save the exact list of them; nothing is removed."""
        from memsweep.gc import collect

        fading = self._fading_with(node_threshold, edge_threshold, include_orphans, max_age_days)
        return collect.plan(self._collecting, "decayed", fading=fading)

    def prune_graph(
        self,
        *,
        node_threshold: float | None = None,
        edge_threshold: float | None = None,
        include_orphans: bool = True,
        max_age_days: float | None = None,
        confirm: bool = False,
        allow_large: bool = False,
    ) -> Receipt:
        """Move the facts that have faded away to the trash, planned and applied in one transaction."""
        from memsweep.gc import collect

        fading = self._fading_with(node_threshold, edge_threshold, include_orphans, max_age_days)
        return collect.plan_and_apply(
            self._collecting, "decayed", confirm=confirm, allow_large=allow_large, fading=fading
        )

    def decay_graph(self, *, dry_run: bool = True) -> Decayed:
        """What every fact counts now; stored beside its base unless `dry_run`, which changes nothing that is read."""
        from memsweep.graph import facts

        return facts.decay(self._graphing(), self._fading.node_threshold, self._fading.edge_threshold, not dry_run)

    def plan_merge(self, ids: Iterable[str], into: str) -> Merged:
        """What would move if these entities (ids or names) became one with `into`; saved as a plan."""
        from memsweep.graph import facts

        lifetime = timedelta(hours=self._app.settings.gc.plan_hours)
        return facts.plan_merge(self._graphing(), list(ids), into, lifetime)

    def merge_entities(self, ids: Iterable[str] = (), into: str = "", *, plan_id: str | None = None) -> Merged:
        """Make several entities one; their names still find it. `undo` with the receipt takes them apart."""
        from memsweep.graph import facts

        return facts.merge(self._graphing(), list(ids), into, plan_id)

    def unmerge_entity(
        self,
        entity: str,
        name: str,
        *,
        entity_type: str | None = None,
        relations: Iterable[str] = (),
        memories: Iterable[str] = (),
    ) -> Split:
        """Make a new entity of chosen relations of another (by id), and of its mentions in chosen memories."""
        from memsweep.graph import facts

        return facts.split(self._graphing(), entity, name, entity_type, list(relations), list(memories))

    @property
    def _fading(self) -> Fading:
        from memsweep.gc.strategies.rule import Fading

        graph = self._app.settings.graph
        return Fading(self._rates, graph.node_threshold, graph.edge_threshold, max_age_days=graph.max_age_days)

    def _fading_with(
        self,
        node_threshold: float | None,
        edge_threshold: float | None,
        include_orphans: bool,
        max_age_days: float | None,
    ) -> Fading:
        given = {"node_threshold": node_threshold, "edge_threshold": edge_threshold, "max_age_days": max_age_days}
        chosen = {name: value for name, value in given.items() if value is not None}
        return replace(self._fading, include_orphans=include_orphans, **chosen)  # type: ignore[arg-type]
