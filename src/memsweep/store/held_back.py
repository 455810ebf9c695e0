"""What of the graph is in quarantine: left out of what is recalled."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from memsweep.model.quarantine import HeldTiers

if TYPE_CHECKING:
    from memsweep.model.search import HeldBack
    from memsweep.store.ports.graph_store import Graph


class HeldGraph:
    """Which facts and entities are held back; `back` is nothing where nothing is."""

    def __init__(self, graph: Graph, back: HeldBack | None) -> None:
        self._graph = graph
        tiers = () if back is None else back.tiers
        held = [key for key, origin in graph.origins().items() if origin.tier in tiers] if tiers else []
        self._tiers = HeldTiers(held, back.since) if back is not None and held else None

    def facts(self, ids: Collection[str]) -> set[str]:
        if self._tiers is None or not ids:
            return set()
        return self._tiers.facts(self._graph.fact_provenance(ids))

    def entities(self, keys: Collection[int]) -> set[int]:
        if self._tiers is None or not keys:
            return set()
        found = self._graph.entity_provenance(keys)
        return self._tiers.entities(found, self.facts({fact for entity in found for fact in entity.facts}))
