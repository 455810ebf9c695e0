"""Memories that change in place, and their revisions: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

COUNT_OF_MEMORY = """
    MATCH (m:Memory {id: $id}) MATCH (r:Revision) WHERE r.kind = 'memory' AND r.item = m.key
    RETURN count(r), max(r.at)"""
PIECES = """
    UNWIND $keys AS key MATCH (m:{memory} {{ref: toString(key)}})-[:HAS_CHUNK]->(c)
    OPTIONAL MATCH (e:Embedding {{ref: toString(c.key)}}) WITH m, c, e
    OPTIONAL MATCH (c)-[r:MENTIONS]->(n)
    WITH m, c, e, collect(CASE WHEN n IS NULL THEN NULL ELSE [n.key, r.origin] END) AS mentions
    RETURN m.key, c.position, c.key, c.id, c.text, c.start, c.first_line, c.last_line, e.data, c.stream,
           c.stream_position, c.symbol, c.symbol_kind, c.words, mentions"""
CHUNKS = "MATCH (m:{memory} {{ref: toString($key)}})-[:HAS_CHUNK]->(c) RETURN c.key"
# Whether others stand there, live or in the trash.
ARE_TAKEN = """
    MATCH (c:Chunk {stream: $thread}) WHERE c.stream_position IN $places AND c.memory <> $memory RETURN c.key
    UNION
    MATCH (:TrashedMemory {thread: $thread})-[:HAS_CHUNK]->(c)
    WHERE c.stream_position IN $places AND c.memory <> $memory RETURN c.key"""
LAST_PLACE = "MATCH (t:Thread {ref: toString($thread)}) RETURN t.last"

DROP_CHUNK = "MATCH (c:{chunk} {{ref: toString(row)}}) DETACH DELETE c"


def of_state(query: str, *, live: bool) -> str:
    """The query or step for what is live, or for what is in the trash."""
    prefix = "" if live else "Trashed"
    return query.format(memory=f"{prefix}Memory", chunk=f"{prefix}Chunk")
