"""The part of the graph that is in quarantine, or said only by what has expired: left out of what is recalled."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

from memsweep.model.quarantine import HeldTiers

if TYPE_CHECKING:
    from memsweep.model.search import HeldBack
    from memsweep.store.graph import Graph


class HeldGraph:
    """The facts and entities that are held back; `back` is None where nothing is."""

    def __init__(self, graph: Graph, back: HeldBack | None) -> None:
        self._graph = graph
        tiers = () if back is None else back.tiers
        held = [key for key, origin in graph.origins().items() if origin.tier in tiers] if tiers else []
        self._tiers = HeldTiers(held, back.since) if back is not None and held else None

        self._expired_by = None if back is None else back.expired_by

    @cached_property
    def _expired(self) -> set[str]:
        return set() if self._expired_by is None else self._graph.expired_facts(self._expired_by)

    def facts(self, ids: Collection[str]) -> set[str]:
        if not ids:
            return set()
        expired = self._expired.intersection(ids)
        return expired if self._tiers is None else expired | self._tiers.facts(self._graph.fact_provenance(ids)[0])

    def entities(self, keys: Collection[int]) -> set[int]:
        if self._tiers is None or not keys:
            return set()
        found = self._graph.entity_provenance(keys)
        return self._tiers.entities(found, self.facts({fact for entity in found for fact in entity.facts}))
