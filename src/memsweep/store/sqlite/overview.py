"""Memories listed and counted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import apsw

from memsweep.model.counts import DAY_MICROS, MOST_TAGS, MadeOn, RawCounts
from memsweep.model.listing import ListedMemory, ListFilters
from memsweep.store.file.connect import Pool, one
from memsweep.store.overview import raw_counts
from memsweep.store.sqlite import overview_sql
from memsweep.store.sqlite.rows import SqliteRows, viewed
from memsweep.store.views import LISTED, read_listed

_RARE = 2000


class SqliteOverview:
    """Implements `memsweep.store.ports.overview.Overview`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def memories(self, asked: ListFilters, before: int | None, limit: int) -> dict[int, ListedMemory | None]:
        below = [] if before is None else [before]
        with self._pool.reading() as db:
            where, values = _passing(db, asked)
            page = overview_sql.page(where, after_another=bool(below))
            rows: Iterable[Any] = db.execute(page, [*values, *below, limit])
            return read_listed(viewed(LISTED)[2], rows)

    def count(self, asked: ListFilters) -> int:
        with self._pool.reading() as db:
            where, values = _passing(db, asked)
            return int(one(db, overview_sql.count(where), values))

    def counts(self, first_day: int) -> RawCounts:
        with self._pool.reading() as db:
            made: Iterable[Any] = db.execute(overview_sql.MADE, {"first": first_day * DAY_MICROS})
            days = [MadeOn(day, bool(is_code), count) for day, is_code, count in made]
            tags = dict(db.execute(overview_sql.TAGS, (MOST_TAGS,)))
            return raw_counts(SqliteRows(db), days, tags, one(db, overview_sql.SUPERSEDED))


def _passing(db: apsw.Connection, asked: ListFilters) -> tuple[str, list[Any]]:
    tags = json.dumps(asked.filters.tags)
    rare = bool(asked.filters.tags) and one(db, overview_sql.RAREST_TAG, (tags, _RARE)) < _RARE
    return overview_sql.passing(asked, rare_tag=rare)
