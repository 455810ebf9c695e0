"""Code files: Cypher. Pure text; every value is a parameter. A memory with a `path` is a file."""

from __future__ import annotations

# reading
FILES_AT = """
    UNWIND $places AS place MATCH (m:Memory {path: place[1]}) WHERE m.root = place[0]
    RETURN m.root, m.path, m.id"""

# what a file has now
MEMORIES_OF_IDS = "UNWIND $ids AS id MATCH (m:Memory {id: id}) RETURN m.id, m.key"
TRASHED_OF_IDS = "UNWIND $ids AS id MATCH (m:TrashedMemory {id: id}) RETURN m.id"
CHUNKS_OF = """
    UNWIND $memories AS memory MATCH (m:Memory {ref: toString(memory)})-[:HAS_CHUNK]->(c:Chunk)
    RETURN m.key, c.key, c.hash, c.text, c.words, c.symbol, c.symbol_kind, c.first_line, c.last_line, c.position
    ORDER BY c.position, c.key"""
MENTIONS_OF = """
    UNWIND $memories AS memory MATCH (m:Memory {ref: toString(memory)})-[:HAS_CHUNK]->(c:Chunk)-[:MENTIONS]->(e)
    RETURN m.key, c.key, e.key"""
STATED_BY = (
    "UNWIND $memories AS memory MATCH (m:Memory {ref: toString(memory)})-[s:STATES]->() RETURN m.key, s.relation"
)

# Files that name an entity, in the trash or not.
MENTIONING = """
    UNWIND $entities AS key MATCH (e:Entity {ref: toString(key)})<-[:MENTIONS]-()<-[:HAS_CHUNK]-(m)
    WITH DISTINCT e.key AS entity, m.source AS source, m.id AS file
    WHERE source = 'code_indexer' RETURN entity, file"""
STATING = """
    UNWIND $entities AS key MATCH (e:Entity {ref: toString(key)})-[r:RELATED_TO]-()
    WITH DISTINCT e.key AS entity, r.key AS relation MATCH ()-[s:STATES {relation: relation}]->()
    WITH DISTINCT entity, startNode(s) AS m WITH entity, m.source AS source, m.id AS file
    WHERE source = 'code_indexer' RETURN entity, file"""
WHO_STATES = """
    UNWIND $keys AS key MATCH ()-[s:STATES {relation: key}]->() WITH key, startNode(s) AS m
    RETURN key, m.key, m.trash"""
IS_EXPLICIT = (
    "UNWIND $keys AS key MATCH ()-[r:{relation} {{ref: toString(key)}}]->() RETURN r.key, r.handed_in, r.trash"
)

# steps of a file
MOVE_CHUNK = """
    MATCH (m:Memory {ref: toString(row.memory)})-[h:HAS_CHUNK]->(c:Chunk {ref: toString(row.key)}) SET c += row.set
    SET h.index = row.set.position"""
COPY_EMBEDDING = """
    MATCH (e:Embedding {ref: toString(row.same)})
    CREATE (n:Embedding {key: row.key, data: e.data}) SET n.ref = toString(row.key)"""
DROP_CHUNK = "MATCH (c:Chunk {ref: toString(row)}) DETACH DELETE c"
DROP_EMBEDDING = "MATCH (e:Embedding {ref: toString(row)}) DELETE e"
DROP_MENTION = "MATCH (c:Chunk {ref: toString(row.chunk)})-[r:MENTIONS]->(e {ref: toString(row.entity)}) DELETE r"
ADD_STATEMENT = """
    MATCH (m:Memory {ref: toString(row.memory)}) MATCH (e:Entity {ref: toString(row.subject)})
    CREATE (m)-[:STATES {relation: row.relation}]->(e)"""
DROP_STATEMENT = "MATCH (m:Memory {ref: toString(row.memory)})-[s:STATES {relation: row.relation}]->() DELETE s"

DROP_SKIP = "MATCH (s:CodeSkip {root: row.root}) WHERE s.path = row.path DELETE s"
