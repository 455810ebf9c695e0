"""Queries and steps on receipts. Pure text; values are always bound."""

from __future__ import annotations

_ROW = "RETURN r.key, r.id, r.plan, r.undone_at, r.purged_at"
GET = f"MATCH (r:Receipt {{id: $id}}) {_ROW}"
AT = f"UNWIND $keys AS key MATCH (r:Receipt {{ref: toString(key)}}) {_ROW}"
NOT_PURGED = f"MATCH (r:Receipt) WHERE r.purged_at IS NULL AND r.created_at <= $before {_ROW} ORDER BY r.key"
# What recovers one memory holds nothing.
PAGE = """
    MATCH (r:Receipt) WHERE r.action <> 'recover' AND r.key < $before AND (NOT $holding OR r.key IN $keys)
    RETURN r.key, r.id, r.plan, r.action, r.strategy, r.actor, r.created_at, r.counts, r.skipped,
           r.undone_at, r.purged_at
    ORDER BY r.key DESC LIMIT $limit"""
TRASHED_HOLDERS = (
    "MATCH (n:TrashedMemory) RETURN DISTINCT n.trash",
    "MATCH (n:TrashedChunk) RETURN DISTINCT n.trash",
    "MATCH (n:TrashedEntity) RETURN DISTINCT n.trash",
    "MATCH ()-[r:WAS_RELATED_TO]->() RETURN DISTINCT r.trash",
    "MATCH (n:TrashedSegment) RETURN DISTINCT n.trash",
    "MATCH (n:Revision) RETURN DISTINCT n.receipt",
)
_EACH = "UNWIND $keys AS key MATCH"
HELD = {
    "memories": f"{_EACH} (n:TrashedMemory {{trash: key}}) RETURN key, count(n), sum(size(n.text))",
    "chunks": f"{_EACH} (n:TrashedChunk {{trash: key}}) RETURN key, count(n), sum(size(n.text))",
    "entities": f"{_EACH} (n:TrashedEntity {{trash: key}}) RETURN key, count(n), sum(size(n.name))",
    "relations": f"{_EACH} ()-[r:WAS_RELATED_TO {{trash: key}}]->() RETURN key, count(r), sum(size(r.relation))",
    "segments": f"{_EACH} (n:TrashedSegment {{trash: key}}) RETURN key, count(n), sum(size(n.text))",
    "stashed": f"{_EACH} (n:Segment) WHERE n.stash = key RETURN key, count(n), 0",
    "revisions": "MATCH (n:Revision) WHERE n.receipt IN $keys RETURN n.receipt, count(n), sum(size(n.before))",
}
ADD = "CREATE (:Receipt {*row})"
SET_UNDONE = "MATCH (r:Receipt {ref: toString(row.key)}) SET r.undone_at = row.at"
SET_PURGED = "MATCH (r:Receipt {ref: toString(row.key)}) SET r.purged_at = row.at"
