"""Code files: Cypher. Pure text; every value is a parameter. A memory with a `path` is a file."""

from __future__ import annotations

# reading
CODE_FILES = """
    MATCH (m:Memory {root: $root}) WHERE m.path IS NOT NULL
    RETURN m.id, m.path, m.language, m.stamp, m.digest, m.read_at_ns, m.stale"""
CODE_SKIPS = "MATCH (s:CodeSkip {root: $root}) RETURN '', s.path, s.language, s.stamp, s.digest, s.read_at_ns, false"
CHUNK_HASHES = "UNWIND $ids AS id MATCH (m:Memory {id: id})-[:HAS_CHUNK]->(c:Chunk) RETURN m.id, c.hash"
CODE_TOTALS = """
    MATCH (m:Memory {root: $root}) WHERE m.path IS NOT NULL AND NOT m.stale
    WITH m.language AS language, count(m) AS files, sum(m.lines) AS lines, sum(m.functions) AS functions,
         sum(m.classes) AS classes
    RETURN language, files, lines, functions, classes ORDER BY language"""
SCOPE = "MATCH (s:CodeScope {root: $root}) WHERE s.filters = $filters RETURN s.key, s.runs, s.verified_at"
ROOTS = "MATCH (r:CodeRoot) RETURN r.path ORDER BY r.key"
FILES_AT = """
    UNWIND $places AS place MATCH (m:Memory {path: place[1]}) WHERE m.root = place[0]
    RETURN m.root, m.path, m.id"""
ROOT = "MATCH (r:CodeRoot {path: $root}) RETURN r.key"
FILES_IN_SCOPES = "MATCH (m:Memory {root: $root}) WHERE m.path IS NOT NULL RETURN m.id, m.scope"

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
DROP_RELATION = "MATCH ()-[r:RELATED_TO {ref: toString(row)}]->() DELETE r"
DROP_STATEMENT = "MATCH (m:Memory {ref: toString(row.memory)})-[s:STATES {relation: row.relation}]->() DELETE s"

# steps of a run
ADD_ROOT = "CREATE (:CodeRoot {*row})"
SET_ROOT_TOTAL = "MATCH (r:CodeRoot {path: row.path}) SET r.total_files = row.total_files"
ADD_SCOPE = "CREATE (:CodeScope {*row})"
SCOPE_VERIFIED = "MATCH (s:CodeScope {ref: toString(row.key)}) SET s.verified_at = row.at SET s.runs = s.runs + 1"
# A file that has left was last seen by the run that verified it last.
MARK_STALE = """
    MATCH (m:Memory {id: row}) OPTIONAL MATCH (s:CodeScope {ref: toString(m.scope)})
    WITH row, m, coalesce(s.verified_at, m.verified_at) AS seen
    SET m.stale = true, m.version = m.version + 1,
        m.last_seen_at = CASE WHEN seen > m.last_seen_at THEN seen ELSE m.last_seen_at END"""
MARK_FRESH = """
    MATCH (m:Memory {id: row.id}) SET m.stale = false, m.version = m.version + 1, m.last_seen_at = row.at"""
MARK_FILE = "MATCH (m:Memory {id: row.id}) SET m += row.set"
DOUBT = "MATCH (m:Memory {id: row.id}) SET m.verified_at = row.verified_at, m.scope = NULL"
VERIFY = "MATCH (m:Memory {id: row.id}) SET m.scope = row.scope, m.verified_at = NULL"
DROP_SKIP = "MATCH (s:CodeSkip {root: row.root}) WHERE s.path = row.path DELETE s"
HAND_OVER = "MATCH (m:Memory {id: row.memory}) SET m.root = row.root, m.path = row.path, m.digest = ''"
ADD_SKIP = "CREATE (:CodeSkip {*row})"
