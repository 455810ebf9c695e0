"""Memories listed and counted: queries of their own, for what a list asks for is no condition on a row."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from memsweep.model.counts import DAY_MICROS, MOST_TAGS, MadeOn, RawCounts
from memsweep.model.listing import ListedMemory, ListFilters, State
from memsweep.store.falkor import origins, searching
from memsweep.store.falkor.cypher import asked_for, expired, held_back
from memsweep.store.falkor.rows import FalkorRows, viewed
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.wire import Row
from memsweep.store.overview import raw_counts
from memsweep.store.views import LISTED, read_listed

_EXPIRES = "m.expires_at IS NOT NULL"
_IN_STATE = {"stale": "m.stale", "pinned": "m.pinned", "expiring": _EXPIRES, "expired": _EXPIRES}
_REPLACED = "OPTIONAL MATCH (m)<-[:SUPERSEDES]-(newer:Memory) WITH m, count(newer) > 0 AS replaced"


def passing(
    asked: ListFilters, compared_keys: Sequence[int] | None, origin_keys: Sequence[int | None] | None
) -> tuple[str, dict[str, Any]]:
    """A condition on `m`, with its values; what is in quarantine is `$held_…`. Who superseded it is no part of it."""
    parts, values = asked_for(asked.filters, compared_keys, origin_keys)
    held = f"({held_back})" if asked.back is not None and asked.back.tiers else "false"
    if asked.state == "quarantined":
        parts.append(held)
    elif asked.state == "current":
        parts.append(f"NOT m.stale AND NOT {held}")
    elif asked.state in _IN_STATE:
        parts.append(_IN_STATE[asked.state])
    if asked.expired_by is not None:
        parts.append(expired if asked.state == "expired" else f"NOT {expired}")
        values["expired_by"] = asked.expired_by
    return " AND ".join(parts) or "true", values


def page(where: str, state: State | None) -> str:
    """Of the memories between two keys the newest; an index finds them, but does not put them in order."""
    start = "(:Memory)-[:SUPERSEDES]->(m:Memory)" if state == "superseded" else "(m:Memory)"
    current = f"{_REPLACED} WHERE NOT replaced WITH m" if state == "current" else "WITH DISTINCT m"
    columns, joins, _ = viewed(LISTED)
    return f"""
    MATCH {start} WHERE m.key < $before AND m.key >= $from AND {where}
    {current} ORDER BY m.key DESC LIMIT $limit
    {_REPLACED}{joins} RETURN {columns}, replaced ORDER BY m.key DESC"""


# What was made before the first day counts as of the day before it.
MADE = f"""
    MATCH (m:Memory)
    WITH CASE WHEN m.created_at < $first THEN $first - 1 ELSE m.created_at END AS at, m.path IS NOT NULL AS is_code
    RETURN toInteger(floor(at / {DAY_MICROS}.0)), is_code, count(at)"""
TAGS = """
    MATCH (m:Memory) UNWIND m.tags AS tag WITH tag, count(DISTINCT m) AS counted
    RETURN tag, counted ORDER BY counted DESC, tag LIMIT $limit"""
SUPERSEDED = "MATCH (:Memory)-[:SUPERSEDES]->(m:Memory) RETURN count(DISTINCT m)"


def _count(where: str) -> str:
    return f"MATCH (m:Memory) WHERE m.key >= $from AND m.key <= $to AND {where} RETURN count(m)"


def _count_superseded(where: str) -> str:
    bounded = f"m.key >= $from AND m.key <= $to AND {where}"
    return f"MATCH (:Memory)-[:SUPERSEDES]->(m:Memory) WHERE {bounded} RETURN count(DISTINCT m)"


_KEYS_EACH = 16  # a memory, its chunks, names and facts are numbered together
_WIDER = 8
_COMPARED = 500
"""Keys in a list: the server compares a memory with each of them."""


def _within(values: dict[str, Any], keys: range) -> dict[str, Any]:
    """Return values for the memories of some keys: a list of those that may pass is the shorter for it."""
    if (listed := values.get("compared_keys")) is None:
        return values
    return {**values, "compared_keys": listed[bisect_left(listed, keys.start) : bisect_left(listed, keys.stop)]}


def _ends(values: dict[str, Any]) -> dict[str, int]:
    keys = values.get("compared_keys")
    return {"from": keys[0], "to": keys[-1]} if keys else {}


class FalkorOverview:
    """Implements `memsweep.store.overview.Overview`."""

    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph

    def memories(self, asked: ListFilters, before: int | None, limit: int) -> dict[int, ListedMemory | None]:
        where, values = self._passing(asked)
        top = self._graph.meta()["keys"] + 1 if before is None else before
        rows: list[Row] = []
        query = page(where, asked.state)
        reach = top if asked.state == "superseded" else _KEYS_EACH * limit  # they are few, and begin at their links
        while len(rows) < limit and top > 0:
            bounds = {"before": top, "from": max(top - reach, 0), "limit": limit - len(rows)}
            rows += self._graph.ask(query, **_within(values, range(bounds["from"], top)), **bounds)
            top, reach = bounds["from"], reach * _WIDER
        return read_listed(viewed(LISTED)[2], rows)

    def count(self, asked: ListFilters) -> int:
        where, values = self._passing(asked)
        superseded = 0
        if asked.state in ("current", "superseded"):
            superseded = self._counted(_count_superseded(where), values)
        return superseded if asked.state == "superseded" else self._counted(_count(where), values) - superseded

    def _counted(self, query: str, values: dict[str, Any]) -> int:
        """Add up counts of as many memories at once as the server compares quickly, where it is said which may be."""
        keys = values.get("compared_keys")
        starts = range(0, 1 if keys is None else len(keys), _COMPARED)
        parts = [values if keys is None else {**values, "compared_keys": keys[at : at + _COMPARED]} for at in starts]
        answers = (
            self._graph.ask_all(*((query, {"from": 0, "to": 2**62, **_ends(part), **part}) for part in parts))
            if parts
            else []
        )
        return sum(rows[0][0] for rows in answers)

    def counts(self, first_day: int) -> RawCounts:
        made, tags, superseded = self._graph.ask_all(
            (MADE, {"first": first_day * DAY_MICROS}),
            (TAGS, {"limit": MOST_TAGS}),
            (SUPERSEDED, {}),
        )
        days = [MadeOn(*row) for row in made]
        return raw_counts(FalkorRows(self._graph), days, dict(map(tuple, tags)), superseded[0][0])

    def _passing(self, asked: ListFilters) -> tuple[str, dict[str, Any]]:
        accepted = origins.accepted(self._graph, asked.accept) if asked.asks_for_origin else None
        where, values = passing(asked, searching.compared_keys(self._graph, asked.filters), accepted)
        if asked.back is None or not asked.back.tiers:
            return where, values
        return where, {**values, **searching.held_values(self._graph, asked.back)}
