"""Whole graphs in and out, and what the doctor asks: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

NODES = "MATCH (n:{label}) RETURN properties(n)"
RELATIONS = "MATCH (s)-[r:{kind}]->(o) RETURN properties(r), s.key, o.key"
MENTIONS = "MATCH (c)-[:MENTIONS]->(e) RETURN c.key, e.key, coalesce(c.trash, e.trash)"
STATEMENTS = "MATCH (m)-[s:STATES]->() RETURN s.relation, m.key"

ADD_NODE = "UNWIND $rows AS row CREATE (n:{label}) SET n = row SET n.ref = toString(row.key)"
ADD_HAS_CHUNK = """
    UNWIND $rows AS row MATCH (m:{memory} {{ref: toString(row.memory)}}) MATCH (c:{chunk} {{ref: toString(row.key)}})
    CREATE (m)-[:HAS_CHUNK {{index: row.position}}]->(c)"""
ADD_RELATION = """
    UNWIND $rows AS row MATCH (s:{subject} {{ref: toString(row.subject)}})
    MATCH (o:{object} {{ref: toString(row.object)}})
    CREATE (s)-[r:{kind}]->(o) SET r = row.set SET r.ref = toString(row.set.key)"""
ADD_MENTION = """
    UNWIND $rows AS row MATCH (c:{chunk} {{ref: toString(row.chunk)}}) MATCH (e:{entity} {{ref: toString(row.entity)}})
    CREATE (c)-[:MENTIONS]->(e)"""
ADD_STATEMENT = """
    UNWIND $rows AS row MATCH (m:{memory} {{ref: toString(row.memory)}})
    MATCH (e:{entity} {{ref: toString(row.subject)}})
    CREATE (m)-[:STATES {{relation: row.relation}}]->(e)"""
PUT_META = "MATCH (w:Workspace) SET w += $meta"

UNFIT = """
    MATCH (c:{label}) OPTIONAL MATCH (e:Embedding {{ref: toString(c.key)}}) WITH c, e
    WHERE e IS NULL OR size(e.data) <> $length RETURN c.key, c.text ORDER BY c.key"""
COUNT_EMBEDDINGS = "MATCH (e:Embedding) WHERE e.key <= $upto RETURN count(e)"
FIT_EMBEDDING = "MERGE (e:Embedding {ref: toString(row.key)}) SET e.key = row.key, e.data = row.data"


def of(query: str, **names: str) -> str:
    """The query with its labels: names of ours, never a value."""
    return query.format(**names)
