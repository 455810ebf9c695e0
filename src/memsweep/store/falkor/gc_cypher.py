"""The collector's Cypher: survey, plans, apply. Pure text; every value is a parameter."""

from __future__ import annotations

# survey
MEMORIES = """
    MATCH (m:Memory) RETURN m.key, m.version, m.source = 'code_indexer', m.stale, m.pinned, m.created_at,
           m.last_seen_at, m.expires_at, m.content_hash, m.path IS NOT NULL, m.scope, m.verified_at ORDER BY m.key"""
MEMORIES_OF = """
    UNWIND $keys AS key MATCH (m:Memory {ref: toString(key)})
    RETURN m.key, m.version, m.source = 'code_indexer', m.stale, m.pinned, m.created_at,
           m.last_seen_at, m.expires_at, m.content_hash, m.path IS NOT NULL, m.scope, m.verified_at ORDER BY m.key"""
CHUNK_COUNTS_OF = """
    UNWIND $keys AS key MATCH (m:Memory {ref: toString(key)})-[:HAS_CHUNK]->(c:Chunk) RETURN m.key, count(c)"""
MENTIONS_OF = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})<-[:MENTIONS]-(:Chunk)<-[:HAS_CHUNK]-(m:Memory)
    RETURN DISTINCT m.key, e.key"""
EDGES_AT = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})-[r:RELATED_TO]-(:Entity) WITH DISTINCT r
    RETURN startNode(r).key, endNode(r).key, r.key, r.handed_in, r.evidence, r.version, r.weight, r.last_seen,
           r.invalid_at ORDER BY r.key"""
STATEMENTS_OF = """
    UNWIND $relations AS relation MATCH ()-[s:STATES {relation: relation}]->() WITH relation, startNode(s) AS m
    RETURN m.key, relation, m.source <> 'code_indexer', m.trash IS NULL"""
WITH_ANY_WORD = """
    CALL db.idx.fulltext.queryNodes('Chunk', $words) YIELD node
    MATCH (node)<-[:HAS_CHUNK]-(m:Memory) WHERE m.source <> 'code_indexer' RETURN DISTINCT m.key"""
IN_PIECES = """
    CALL db.idx.fulltext.queryNodes('Chunk', $words) YIELD node
    MATCH (node)<-[:HAS_CHUNK]-(m:Memory) WHERE m.source <> 'code_indexer' WITH DISTINCT m
    MATCH (m)-[:HAS_CHUNK]->(c:Chunk) WITH m, count(c) AS chunks WHERE chunks > 1 RETURN m.key"""
SCOPES = "MATCH (s:CodeScope) WHERE s.verified_at IS NOT NULL RETURN s.key, s.verified_at"
CHUNK_COUNTS = "MATCH (m:Memory)-[:HAS_CHUNK]->(c:Chunk) RETURN m.key, count(c)"
LONE_CHUNKS = """
    MATCH (c:Chunk) OPTIONAL MATCH (c)<-[h:HAS_CHUNK]-() WITH c, h WHERE h IS NULL
    RETURN c.key, c.memory ORDER BY c.key"""
ENTITIES = """
    MATCH (e:Entity) RETURN e.key, e.version, e.type_key, e.pinned, e.handed_in, e.created_at, e.confidence,
        e.last_seen
    ORDER BY e.key"""
ENTITY_KEYS = "MATCH (e:Entity) RETURN e.key ORDER BY e.key"
THESE_ENTITIES = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})
    RETURN e.key, e.version, e.type_key, e.pinned, e.handed_in, e.created_at, e.confidence, e.last_seen
    ORDER BY e.key"""
EDGES = "MATCH (s:Entity)-[r:RELATED_TO]->(o:Entity) RETURN s.key, o.key, r.key, r.handed_in, r.evidence ORDER BY r.key"
RELATION_ROWS = """
    MATCH (s:Entity)-[r:RELATED_TO]->(o:Entity)
    RETURN r.key, r.version, s.key, o.key, r.weight, r.last_seen, r.invalid_at ORDER BY r.key"""
# Live or in the trash: the evidence of a relation counts both.
STATEMENTS_OF_NOTES = "MATCH (m:{memory})-[s:STATES]->() WHERE m.source <> 'code_indexer' RETURN s.relation, count(s)"
STATEMENTS = "MATCH (m:Memory)-[s:STATES]->() RETURN m.key, s.relation"
MENTIONS = "MATCH (m:Memory)-[:HAS_CHUNK]->(:Chunk)-[:MENTIONS]->(e:Entity) RETURN DISTINCT m.key, e.key"
TEXTS = "MATCH (m:Memory) WHERE m.source <> 'code_indexer' RETURN m.key, m.text"
REVISION = "MATCH (w:Workspace) RETURN w.revision"

_LIVE = {"memory": "Memory", "chunk": "Chunk", "entity": "Entity", "relation": "RELATED_TO", "segment": "Segment"}
_TRASH = {
    "memory": "TrashedMemory",
    "chunk": "TrashedChunk",
    "entity": "TrashedEntity",
    "relation": "WAS_RELATED_TO",
    "segment": "TrashedSegment",
}


def live_and_trashed(query: str) -> tuple[str, str]:
    """The same question about what is live and about what is in the trash."""
    return query.format(**_LIVE), query.format(**_TRASH)


COUNT_EVENTS = """
    MATCH (a:AuditEvent {subject: $subject}) WHERE a.at = $at AND a.action = $action AND a.reason = $reason
    RETURN count(a)"""
