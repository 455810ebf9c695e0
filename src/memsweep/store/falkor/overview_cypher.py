"""Cypher that lists and counts memories. Pure text; every value is a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memsweep.model.counts import DAY_MICROS
from memsweep.model.listing import ListFilters, State
from memsweep.store.falkor.cypher import asked_for, expired, held_back
from memsweep.store.falkor.rows import viewed
from memsweep.store.views import LISTED

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


def count(where: str) -> str:
    return f"MATCH (m:Memory) WHERE {where} RETURN count(m)"


def count_superseded(where: str) -> str:
    return f"MATCH (:Memory)-[:SUPERSEDES]->(m:Memory) WHERE {where} RETURN count(DISTINCT m)"
