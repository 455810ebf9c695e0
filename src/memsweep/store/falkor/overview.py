"""Memories listed and counted."""

from __future__ import annotations

from typing import Any

from memsweep.model.listing import ListedMemory, ListFilters
from memsweep.store.falkor import origins, overview_cypher, searching
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.wire import Row
from memsweep.store.listed import read_listed

_KEYS_EACH = 16  # a memory, its chunks, names and facts are numbered together
_WIDER = 8


class FalkorOverview:
    """Implements `memsweep.store.ports.overview.Overview`."""

    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph

    def memories(self, asked: ListFilters, before: int | None, limit: int) -> dict[int, ListedMemory | None]:
        where, values = self._passing(asked)
        top = self._graph.meta()["keys"] + 1 if before is None else before
        rows: list[Row] = []
        reach = _KEYS_EACH * limit
        while len(rows) < limit and top > 0:
            bounds = {"before": top, "from": max(top - reach, 0), "limit": limit - len(rows)}
            rows += self._graph.ask(overview_cypher.page(where), **values, **bounds)
            top, reach = bounds["from"], reach * _WIDER
        return {row[0]: read_listed(row, tuple) for row in rows}

    def count(self, asked: ListFilters) -> int:
        where, values = self._passing(asked)
        return int(self._graph.ask(overview_cypher.count(where), **values)[0][0])

    def _passing(self, asked: ListFilters) -> tuple[str, dict[str, Any]]:
        accepted = origins.accepted(self._graph, asked.accept) if asked.asks_for_origin else None
        where, values = overview_cypher.passing(asked, searching.path_keys(self._graph, asked.filters), accepted)
        if asked.back is None:
            return where, values
        return where, {**values, **searching.held_values(self._graph, asked.back)}
