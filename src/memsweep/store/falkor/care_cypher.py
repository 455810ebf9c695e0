"""Whole graphs in and out, and what the doctor asks: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

# reading, by the server's own numbers of nodes: a seek, whatever the size
COUNT_NODES = "MATCH (n) RETURN count(n), max(id(n))"
COUNT_STAGED = "MATCH (s:StagedEmbedding) RETURN count(s)"
COUNT_EDGES = "MATCH ()-[r:{kind}]->() RETURN count(r)"
CODE_ROOTS = "MATCH (n:CodeRoot) RETURN properties(n)"
NODES_BETWEEN = "MATCH (n) WHERE id(n) >= $first AND id(n) < $beyond RETURN labels(n)[0], properties(n)"
_FROM = "MATCH (s) WHERE id(s) >= $first AND id(s) < $beyond MATCH (s)"
EDGES_BETWEEN = {
    "RELATED_TO": f"{_FROM}-[r:RELATED_TO]->(o) RETURN properties(r), s.key, o.key",
    "WAS_RELATED_TO": f"{_FROM}-[r:WAS_RELATED_TO]->(o) RETURN properties(r), s.key, o.key",
    "MENTIONS": f"{_FROM}-[:MENTIONS]->(e) RETURN s.key, e.key, coalesce(s.trash, e.trash)",
    "STATES": f"{_FROM}-[r:STATES]->() RETURN r.relation, s.key",
}

# steps of a copy: each does something with a `row`
ADD_NODE = "CREATE (n:{label}) SET n = row SET n.ref = toString(row.key)"
ADD_HAS_CHUNK = """
    MATCH (m:{memory} {{ref: toString(row.memory)}}) MATCH (c:{chunk} {{ref: toString(row.key)}})
    CREATE (m)-[:HAS_CHUNK {{index: row.position}}]->(c)"""
ADD_RELATION = """
    MATCH (s:{subject} {{ref: toString(row.subject)}}) MATCH (o:{object} {{ref: toString(row.object)}})
    CREATE (s)-[r:{kind}]->(o) SET r = row.set SET r.ref = toString(row.set.key)"""
ADD_MENTION = """
    MATCH (c:{chunk} {{ref: toString(row.chunk)}}) MATCH (e:{entity} {{ref: toString(row.entity)}})
    CREATE (c)-[:MENTIONS]->(e)"""
ADD_STATEMENT = """
    MATCH (m:{memory} {{ref: toString(row.memory)}}) MATCH (e:{entity} {{ref: toString(row.subject)}})
    CREATE (m)-[:STATES {{relation: row.relation}}]->(e)"""
PUT_META = "MATCH (w:Workspace) SET w += $meta"

UNFIT = """
    MATCH (c:{label}) OPTIONAL MATCH (e:Embedding {{ref: toString(c.key)}}) WITH c, e
    WHERE e IS NULL OR size(e.data) <> $length RETURN c.key, c.text ORDER BY c.key"""
COUNT_EMBEDDINGS = "MATCH (e:Embedding) RETURN sum(CASE WHEN e.key <= $indexed THEN 1 ELSE 0 END), count(e)"
FIT_EMBEDDING = "MERGE (e:Embedding {ref: toString(row.key)}) SET e.key = row.key, e.data = row.data"


def of(query: str, **names: str) -> str:
    """The query with its labels: names of ours, never a value."""
    return query.format(**names)
