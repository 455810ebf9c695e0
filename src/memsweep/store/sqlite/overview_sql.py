"""Statements that list and count memories. Pure text; values are always bound.

`memory_by_number` has all that a filter asks for, in the order of listings: no text is read but those that are shown.
"""

from __future__ import annotations

from typing import Any

from memsweep.model.counts import DAY_MICROS
from memsweep.model.frozen import replace
from memsweep.model.listing import ListFilters
from memsweep.model.memory import CODE_SOURCE
from memsweep.model.search import HeldBack
from memsweep.store.sqlite.rows import viewed
from memsweep.store.sqlite.search_sql import EXPIRED, HELD_BACK, condition, held_values
from memsweep.store.sqlite.superseding_sql import NOT_SUPERSEDED
from memsweep.store.views import LISTED

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


RAREST_TAG = (
    "select min((select count(*) from (select 1 from memory_tag where tag = value limit ?2))) from json_each(?1)"
)
_HAS_TAG = "exists (select 1 from memory_tag where tag = ? and memory_tag.memory = memory.id)"


def passing(asked: ListFilters, *, rare_tag: bool) -> tuple[str, list[Any]]:
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


def page(where: str, *, after_another: bool) -> str:
    before = " and memory.id < ?" if after_another else ""
    columns, joins, _ = viewed(LISTED)
    return f"""
    with listed as materialized (select id {_LISTED}{where}{before} order by id desc limit ?)
    select {columns}, not {NOT_SUPERSEDED} from listed join memory on memory.id = listed.id{joins}
    order by memory.id desc"""


# What was made before the first day counts as of the day before it.
MADE = f"""
    select max(created_at, :first - 1) / {DAY_MICROS} as day, source = '{CODE_SOURCE}' as is_code, count(*) {_LISTED}
    group by day, is_code"""
# Tags stay with what is in the trash.
TAGS = """
    select tag, count(*) as counted from memory_tag
    where memory not in (select id from memory where trash is not null)
    group by tag order by counted desc, tag limit ?"""
SUPERSEDED = f"select count(*) {_LISTED} and {_SUPERSEDED}"


def count(where: str) -> str:
    return f"select count(*) {_LISTED}{where}"
