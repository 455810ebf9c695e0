"""Memories listed and counted."""

from __future__ import annotations

from typing import Any

from memsweep.model.counts import DAY_MICROS, MOST_TAGS, MadeOn, RawCounts
from memsweep.model.listing import ListedMemory, ListFilters
from memsweep.store.falkor import origins, overview_cypher, searching
from memsweep.store.falkor.rows import FalkorRows, viewed
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.wire import Row
from memsweep.store.overview import raw_counts
from memsweep.store.views import LISTED, read_listed

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
        page = overview_cypher.page(where, asked.state)
        reach = top if asked.state == "superseded" else _KEYS_EACH * limit  # they are few, and begin at their links
        while len(rows) < limit and top > 0:
            bounds = {"before": top, "from": max(top - reach, 0), "limit": limit - len(rows)}
            rows += self._graph.ask(page, **values, **bounds)
            top, reach = bounds["from"], reach * _WIDER
        return read_listed(viewed(LISTED)[2], rows)

    def count(self, asked: ListFilters) -> int:
        where, values = self._passing(asked)
        if asked.state not in ("current", "superseded"):
            return int(self._graph.ask(overview_cypher.count(where), **values)[0][0])
        superseded = int(self._graph.ask(overview_cypher.count_superseded(where), **values)[0][0])
        if asked.state == "superseded":
            return superseded
        return int(self._graph.ask(overview_cypher.count(where), **values)[0][0]) - superseded

    def counts(self, first_day: int) -> RawCounts:
        made, tags, superseded = self._graph.ask_all(
            (overview_cypher.MADE, {"first": first_day * DAY_MICROS}),
            (overview_cypher.TAGS, {"limit": MOST_TAGS}),
            (overview_cypher.SUPERSEDED, {}),
        )
        days = [MadeOn(*row) for row in made]
        return raw_counts(FalkorRows(self._graph), days, dict(map(tuple, tags)), superseded[0][0])

    def _passing(self, asked: ListFilters) -> tuple[str, dict[str, Any]]:
        accepted = origins.accepted(self._graph, asked.accept) if asked.asks_for_origin else None
        where, values = overview_cypher.passing(asked, searching.compared_keys(self._graph, asked.filters), accepted)
        if asked.back is None or not asked.back.tiers:
            return where, values
        return where, {**values, **searching.held_values(self._graph, asked.back)}
