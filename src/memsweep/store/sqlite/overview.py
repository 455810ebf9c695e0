"""Memories listed and counted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import apsw

from memsweep.model.counts import DAY_MICROS, MOST_TAGS, MadeOn, RawCounts
from memsweep.model.frozen import replace
from memsweep.model.listing import ListedMemory, ListFilters
from memsweep.model.memory import CODE_SOURCE
from memsweep.model.search import HeldBack
from memsweep.store.file.connect import Pool, one
from memsweep.store.overview import raw_counts
from memsweep.store.sqlite.rows import SqliteRows, viewed
from memsweep.store.sqlite.search_sql import EXPIRED, HELD_BACK, condition, held_values
from memsweep.store.sqlite.superseding_sql import NOT_SUPERSEDED
from memsweep.store.views import LISTED, read_listed

_RARE = 2000
_LISTED = "from memory indexed by memory_by_number where trash is null"
_SUPERSEDED = """memory.id in (
    select old from supersession join memory as newer on newer.id = supersession.new and newer.trash is null)"""
_OF_KIND = {
    "memory": f"memory.source <> '{CODE_SOURCE}'",
    "code": f"memory.source = '{CODE_SOURCE}'",
    "fact": "false",
    "segment": "false",
}
_IN_STATE = {
    "stale": "memory.stale",
    "pinned": "memory.pinned",
    "expiring": "memory.expires_at is not null",
    "expired": "memory.expires_at is not null",
    "superseded": _SUPERSEDED,
}


_RAREST_TAG = (
    "select min((select count(*) from (select 1 from memory_tag where tag = value limit ?2))) from json_each(?1)"
)
_HAS_TAG = "exists (select 1 from memory_tag where tag = ? and memory_tag.memory = memory.id)"


def _conditions(asked: ListFilters, *, rare_tag: bool) -> tuple[str, list[Any]]:
    """` and …` for a statement about memories, with its values.

    Of a rare tag all memories are looked up first; a common one is looked for in each memory until the page is full.
    """
    clause, values = condition(replace(asked.filters, kind=None, tags=asked.filters.tags if rare_tag else ()))
    parts = [clause] if clause else []
    if not rare_tag:
        parts += [_HAS_TAG] * len(asked.filters.tags)
        values += asked.filters.tags
    if asked.filters.kind is not None:
        parts.append(_OF_KIND[asked.filters.kind])
    if asked.door is not None:
        parts.append("coalesce((select door from origin where id = memory.origin), '') = ?")
        values.append(asked.door)
    back = asked.back or HeldBack()
    held, of_held = (f"({HELD_BACK})", held_values(back)) if back.tiers else ("false", [])
    if asked.state == "quarantined":
        parts.append(held)
        values += of_held
    elif asked.state == "current":
        parts.append(f"not memory.stale and not {held} and not {_SUPERSEDED}")
        values += of_held
    elif asked.state is not None:
        parts.append(_IN_STATE[asked.state])
    if asked.expired_by is not None:
        parts.append(EXPIRED if asked.state == "expired" else f"not {EXPIRED}")
        values.append(asked.expired_by)
    return "".join(f" and {part}" for part in parts), values


def _page(where: str, *, after_another: bool) -> str:
    before = " and memory.id < ?" if after_another else ""
    columns, joins, _ = viewed(LISTED)
    return f"""
    with listed as materialized (select id {_LISTED}{where}{before} order by id desc limit ?)
    select {columns}, not {NOT_SUPERSEDED} from listed join memory on memory.id = listed.id{joins}
    order by memory.id desc"""


# What was made before the first day counts as of the day before it.
_MADE = f"""
    select max(created_at, :first - 1) / {DAY_MICROS} as day, source = '{CODE_SOURCE}' as is_code, count(*) {_LISTED}
    group by day, is_code"""
# Tags stay with what is in the trash.
_TAGS = """
    select tag, count(*) as counted from memory_tag
    where memory not in (select id from memory where trash is not null)
    group by tag order by counted desc, tag limit ?"""
_COUNT_SUPERSEDED = f"select count(*) {_LISTED} and {_SUPERSEDED}"


def _count(where: str) -> str:
    return f"select count(*) {_LISTED}{where}"


class SqliteOverview:
    """Implements `memsweep.store.overview.Overview`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def memories(self, asked: ListFilters, before: int | None, limit: int) -> dict[int, ListedMemory | None]:
        below = [] if before is None else [before]
        with self._pool.reading() as db:
            where, values = _passing(db, asked)
            page = _page(where, after_another=bool(below))
            rows: Iterable[Any] = db.execute(page, [*values, *below, limit])
            return read_listed(viewed(LISTED)[2], rows)

    def count(self, asked: ListFilters) -> int:
        with self._pool.reading() as db:
            where, values = _passing(db, asked)
            return int(one(db, _count(where), values))

    def counts(self, first_day: int) -> RawCounts:
        with self._pool.reading() as db:
            made: Iterable[Any] = db.execute(_MADE, {"first": first_day * DAY_MICROS})
            days = [MadeOn(day, bool(is_code), count) for day, is_code, count in made]
            tags = dict(db.execute(_TAGS, (MOST_TAGS,)))
            return raw_counts(SqliteRows(db), days, tags, one(db, _COUNT_SUPERSEDED))


def _passing(db: apsw.Connection, asked: ListFilters) -> tuple[str, list[Any]]:
    tags = json.dumps(asked.filters.tags)
    rare = bool(asked.filters.tags) and one(db, _RAREST_TAG, (tags, _RARE)) < _RARE
    return _conditions(asked, rare_tag=rare)
