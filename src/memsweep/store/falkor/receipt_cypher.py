"""Queries and steps on receipts. Pure text; values are always bound."""

from __future__ import annotations

_ROW = "RETURN r.key, r.id, r.plan, r.undone_at, r.purged_at"
GET = f"MATCH (r:Receipt {{id: $id}}) {_ROW}"
AT = f"UNWIND $keys AS key MATCH (r:Receipt {{ref: toString(key)}}) {_ROW}"
NOT_PURGED = f"MATCH (r:Receipt) WHERE r.purged_at IS NULL AND r.created_at <= $before {_ROW} ORDER BY r.key"
ADD = "CREATE (:Receipt {*row})"
SET_UNDONE = "MATCH (r:Receipt {ref: toString(row.key)}) SET r.undone_at = row.at"
SET_PURGED = "MATCH (r:Receipt {ref: toString(row.key)}) SET r.purged_at = row.at"
