"""The knowledge graph of a workspace file: what a statement tells much faster than rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from memsweep.model.decay import Rates
from memsweep.model.graph import Entity, GraphSurvey, NamedEntities, edges_now, entity_now
from memsweep.model.text import name_key
from memsweep.store.file.connect import Pool, one
from memsweep.store.graph import Graph
from memsweep.store.rows import Rows
from memsweep.store.sqlite import graph_sql
from memsweep.store.sqlite.collector import SqliteChanges
from memsweep.store.sqlite.rows import SqliteRows

R = TypeVar("R")


class SqliteGraph(Graph):
    """Implements `memsweep.store.graph.Graph`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @contextmanager
    def changing(self) -> Iterator[SqliteChanges]:
        with self._pool.writing() as db:
            yield SqliteChanges(db)

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        with self._pool.reading() as db:
            yield SqliteRows(db)

    def at_one_moment(self, read: Callable[[Rows], R]) -> R:
        with self.reading() as rows:
            return read(rows)

    def survey(self, rates: Rates, now: datetime) -> GraphSurvey:
        with self._pool.reading() as db:
            entities = tuple(entity_now(item, rates, now) for item in db.execute(graph_sql.SURVEY_ENTITIES))
            return GraphSurvey(entities, tuple(edges_now(db.execute(graph_sql.SURVEY_EDGES), rates, now)))

    def entities(self, rates: Rates, now: datetime, search: str | None, entity_type: str | None) -> list[Entity]:
        pattern = None if search is None else f"%{_literal(name_key(search))}%"
        wanted = {"search": pattern, "type": None if entity_type is None else name_key(entity_type)}
        with self._pool.reading() as db:
            return [entity_now(item, rates, now) for item in db.execute(graph_sql.ENTITIES, wanted)]

    def named(
        self, asked: NamedEntities, after: tuple[str, str] | None, limit: int, rates: Rates, now: datetime
    ) -> list[tuple[tuple[str, str], Entity]]:
        name, kind = after or ("", "")
        with self._pool.reading() as db:
            rows: Any = db.execute(graph_sql.NAMED, {**_named(asked), "name": name, "kind": kind, "limit": limit})
            return [((item[0], item[1]), entity_now(item[2:], rates, now)) for item in rows]

    def count_named(self, asked: NamedEntities) -> int:
        with self._pool.reading() as db:
            return int(one(db, graph_sql.COUNT_NAMED, _named(asked)))


def _named(asked: NamedEntities) -> dict[str, str | None]:
    part = _literal(asked.search)
    pattern = None if not part else f"{part}%" if asked.is_prefix else f"%{part}%"
    return {"search": pattern, "type": asked.type_key or None}


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
