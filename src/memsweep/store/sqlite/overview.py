"""Memories listed and counted."""

from __future__ import annotations

import json
from typing import Any

import apsw

from memsweep.model.listing import ListedMemory, ListFilters
from memsweep.store.file.connect import Pool, one
from memsweep.store.listed import read_listed
from memsweep.store.sqlite import overview_sql
from memsweep.store.stored import texts

_RARE = 2000


class SqliteOverview:
    """Implements `memsweep.store.ports.overview.Overview`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def memories(self, asked: ListFilters, before: int | None, limit: int) -> dict[int, ListedMemory | None]:
        below = [] if before is None else [before]
        with self._pool.reading() as db:
            where, values = _passing(db, asked)
            rows = db.execute(overview_sql.page(where, after_another=bool(below)), [*values, *below, limit])
            return {row[0]: read_listed(row, texts) for row in rows}

    def count(self, asked: ListFilters) -> int:
        with self._pool.reading() as db:
            where, values = _passing(db, asked)
            return int(one(db, overview_sql.count(where), values))


def _passing(db: apsw.Connection, asked: ListFilters) -> tuple[str, list[Any]]:
    tags = json.dumps(asked.filters.tags)
    rare = bool(asked.filters.tags) and one(db, overview_sql.RAREST_TAG, (tags, _RARE)) < _RARE
    return overview_sql.passing(asked, rare_tag=rare)
