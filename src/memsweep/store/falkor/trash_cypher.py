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
# looking into the trash
TRASHED_MEMORIES = "MATCH (m:TrashedMemory) RETURN 'memory', m.key, m.trash"
TRASHED_ENTITY_KEYS = "MATCH (e:TrashedEntity) RETURN 'entity', e.key, e.trash"
TRASHED_LONE_CHUNKS = """
    MATCH (c:TrashedChunk) OPTIONAL MATCH (m)-[:HAS_CHUNK]->(c) WITH c, m WHERE m IS NULL
    RETURN 'chunk', c.key, c.trash"""
TRASHED_SEGMENTS = "MATCH (s:TrashedSegment) RETURN 'segment', s.key, s.trash"
# One that went with an end of it is not listed beside that.
TRASHED_RELATIONS = """
    MATCH (s)-[r:WAS_RELATED_TO]->(o)
    WHERE (s.trash IS NULL OR s.trash <> r.trash) AND (o.trash IS NULL OR o.trash <> r.trash)
    RETURN 'relation', r.key, r.trash"""
TRASHED_REVISIONS = """
    MATCH (r:Revision) WHERE r.kind IN ['memory', 'entity', 'relation', 'segment']
    RETURN 'revision', r.key, r.receipt"""
RECEIPTS = (
    "UNWIND $keys AS key MATCH (r:Receipt {ref: toString(key)}) RETURN r.key, r.id, r.strategy, r.created_at, r.plan"
)
SHOWN = {
    "memory": """
        UNWIND $keys AS key MATCH (n:TrashedMemory {ref: toString(key)})
        RETURN n.key, n.id, left(n.text, 80), coalesce(n.path, '')""",
    "entity": "UNWIND $keys AS key MATCH (n:TrashedEntity {ref: toString(key)}) RETURN n.key, n.id, n.name",
    "chunk": "UNWIND $keys AS key MATCH (n:TrashedChunk {ref: toString(key)}) RETURN n.key, n.id, left(n.text, 80)",
    "segment": "UNWIND $keys AS key MATCH (n:TrashedSegment {ref: toString(key)}) RETURN n.key, n.id, left(n.text, 80)",
    "revision": "UNWIND $keys AS key MATCH (r:Revision {key: key}) RETURN r.key, r.before, r.kind",
    "relation": """
        UNWIND $keys AS key MATCH (s)-[r:WAS_RELATED_TO {ref: toString(key)}]->(o)
        RETURN r.key, r.id, s.name + ' ' + r.relation + ' ' + o.name""",
}

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
