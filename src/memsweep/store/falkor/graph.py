"""The knowledge graph of a workspace: what a query tells much faster than rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from memsweep.model.decay import Rates
from memsweep.model.graph import Entity, NamedEntities, edges_now, entity_now
from memsweep.model.text import name_key
from memsweep.model.whole_graph import GraphSurvey
from memsweep.store.falkor import graph_cypher
from memsweep.store.falkor.changes import FalkorChanges
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.surveying import at_one_moment, pages
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.wire import Row
from memsweep.store.graph import Graph
from memsweep.store.paused import gc_paused
from memsweep.store.rows import Rows

R = TypeVar("R")


class FalkorGraph(Graph):
    """Implements `memsweep.store.graph.Graph`."""

    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph

    @contextmanager
    def changing(self) -> Iterator[FalkorChanges]:
        with self._graph.writing() as tx:
            yield FalkorChanges(tx)

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        yield FalkorRows(self._graph)

    def at_one_moment(self, read: Callable[[Rows], R]) -> R:
        return at_one_moment(self._graph, lambda asked: read(FalkorRows(asked)))

    def survey(self, rates: Rates, now: datetime) -> GraphSurvey:
        def read(asked: GraphHandle | Transaction) -> tuple[list[Row], list[Row]]:
            keys = [key for (key,) in asked.ask(graph_cypher.ENTITY_KEYS)]
            edges = list(pages(asked, graph_cypher.SURVEY_EDGES, keys=keys))
            return list(pages(asked, graph_cypher.SURVEY_ENTITIES, keys=keys)), edges

        with gc_paused():
            entities, edges = at_one_moment(self._graph, read)
            edges.sort(key=lambda row: row[0])
            return GraphSurvey(
                tuple(entity_now(row, rates, now) for row in entities),
                tuple(edges_now((row[1:] for row in edges), rates, now)),
            )

    def entities(self, rates: Rates, now: datetime, search: str | None, entity_type: str | None) -> list[Entity]:
        part = None if search is None else name_key(search)
        rows = [] if part is None else self._graph.ask(graph_cypher.ONCE_NAMED, search=part)
        wanted = {
            "search": part,
            "once_named": [key for (key,) in rows],
            "type": None if entity_type is None else name_key(entity_type),
        }
        return [entity_now(row, rates, now) for row in self._graph.ask(graph_cypher.ENTITIES, **wanted)]

    def named(
        self, asked: NamedEntities, after: tuple[str, str] | None, limit: int, rates: Rates, now: datetime
    ) -> list[tuple[tuple[str, str], Entity]]:
        name, kind = after or ("", "")
        values = {**self._named(asked), "name": name, "kind": kind, "limit": limit}
        rows = self._graph.ask(graph_cypher.NAMED, **values)
        return [((row[0], row[1]), entity_now(row[2:], rates, now)) for row in rows]

    def count_named(self, asked: NamedEntities) -> int:
        return int(self._graph.ask(graph_cypher.COUNT_NAMED, **self._named(asked))[0][0])

    def _named(self, asked: NamedEntities) -> dict[str, Any]:
        part = {"search": asked.search, "is_prefix": asked.is_prefix}
        rows = self._graph.ask(graph_cypher.ONCE_NAMED_SO, **part) if asked.search else []
        return {**part, "type": asked.type_key, "once_named": [key for (key,) in rows]}
