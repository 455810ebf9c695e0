"""Cypher that undoes, lists and frees. Pure text; every value is a parameter."""

from __future__ import annotations

# what is in the trash
# Many memories are asked about at once, each for 3 microseconds: not where no file is in the trash.
FILES_OF = """
    MATCH (one:TrashedMemory) WHERE one.root > '' WITH one LIMIT 1
    UNWIND $memories AS key MATCH (m:TrashedMemory {ref: toString(key)}) WHERE m.path IS NOT NULL
    RETURN m.key, m.id, m.root, m.path"""
_WITH_SAME_TEXT = """mine.source <> 'code_indexer'
    WITH mine, mine.content_hash AS hash MATCH (theirs:Memory {content_hash: hash})
    WHERE theirs.source <> 'code_indexer' AND theirs.text = mine.text
      AND coalesce(theirs.thread, -1) = coalesce(mine.thread, -1)
    RETURN mine.key, mine.id, theirs.id, theirs.key"""
SAME_TEXTS = f"""
    UNWIND $memories AS key MATCH (mine:TrashedMemory {{ref: toString(key)}}) WHERE {_WITH_SAME_TEXT}"""
SAME_TEXTS_AT = f"UNWIND $nodes AS node MATCH (mine:TrashedMemory) WHERE ID(mine) = node AND {_WITH_SAME_TEXT}"
# purging
NAMES_OF_CHUNKS = """
    MATCH (n:NameSeen) WHERE any(chunk IN n.chunks WHERE chunk IN $chunks)
    RETURN n.name_key, n.name, n.evidence, n.chunks"""

# What is too old to tell of: receipts that were purged, with their plans, and events of the log.
LET_GO = (
    """
    MATCH (r:Receipt) WHERE r.purged_at < row.before AND NOT r.action IN ['merge', 'unmerge']
    OPTIONAL MATCH (s:Segment {stash: r.key}) WITH row, r, count(s) AS stashed WHERE stashed = 0
    WITH row, r ORDER BY r.purged_at, r.key WITH row, collect(r) AS spent UNWIND spent[0..row.most] AS r
    OPTIONAL MATCH (p:Plan {receipt: r.key}) OPTIONAL MATCH (i:PlanItem {plan: p.key}) DELETE i, p, r""",
    """
    MATCH (a:AuditEvent) WHERE a.at < row.before AND a.action <> 'backup' AND NOT a.action STARTS WITH 'import_'
    WITH row, a ORDER BY a.at, a.key WITH row, collect(a) AS old UNWIND old[0..row.most] AS a DELETE a""",
)
