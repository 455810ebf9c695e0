"""Whole graphs in and out, and what the doctor asks: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

from collections.abc import Iterable

# reading, by the server's own numbers of nodes: a seek, whatever the size
COUNT_NODES = "MATCH (n) RETURN count(n), max(id(n))"
COUNT_STAGED = "MATCH (s:StagedEmbedding) RETURN count(s)"
COUNT_LINKS = "MATCH (s:SegmentLink) RETURN count(s)"
MERGE_MOVES = "MATCH (n:MergeMove) RETURN properties(n) ORDER BY n.receipt, n.place"
COUNT_EDGES = "MATCH ()-[r:{kind}]->() RETURN count(r)"
CODE_ROOTS = "MATCH (n:CodeRoot) RETURN properties(n)"
NODES_BETWEEN = "MATCH (n) WHERE id(n) >= $first AND id(n) < $beyond RETURN labels(n)[0], properties(n)"
_FROM = "MATCH (s) WHERE id(s) >= $first AND id(s) < $beyond MATCH (s)"
EDGES_BETWEEN = {
    "RELATED_TO": f"{_FROM}-[r:RELATED_TO]->(o) RETURN properties(r), s.key, o.key",
    "WAS_RELATED_TO": f"{_FROM}-[r:WAS_RELATED_TO]->(o) RETURN properties(r), s.key, o.key",
    "MENTIONS": f"{_FROM}-[n:MENTIONS]->(e) RETURN s.key, e.key, coalesce(s.trash, e.trash), n.origin",
    "STATES": f"{_FROM}-[r:STATES]->() RETURN r.relation, s.key",
    "SUPERSEDES": f"{_FROM}-[r:SUPERSEDES]->(o) RETURN o.key, s.key, r.at, coalesce(r.origins, '[]')",
}

# steps: each does something with a `row`; the labels of what an edge joins are `begin` and `end`
ADD_NODE = "CREATE (:{label} {{*row}})"
ADD_EDGE = {
    "HAS_CHUNK": """
        MATCH (m:{begin} {{ref: toString(row.memory)}}) MATCH (c:{end} {{ref: toString(row.key)}})
        CREATE (m)-[:HAS_CHUNK {{index: row.position}}]->(c)""",
    "RELATED_TO": """
        MATCH (s:{begin} {{ref: toString(row.subject)}}) MATCH (o:{end} {{ref: toString(row.object)}})
        CREATE (s)-[r:RELATED_TO]->(o) SET r = row.set SET r.ref = toString(row.set.key)""",
    "WAS_RELATED_TO": """
        MATCH (s:{begin} {{ref: toString(row.subject)}}) MATCH (o:{end} {{ref: toString(row.object)}})
        CREATE (s)-[r:WAS_RELATED_TO]->(o) SET r = row.set SET r.ref = toString(row.set.key)""",
    "MENTIONS": """
        MATCH (c:{begin} {{ref: toString(row.chunk)}}) MATCH (e:{end} {{ref: toString(row.entity)}})
        CREATE (c)-[n:MENTIONS]->(e) SET n.origin = row.origin""",
    "STATES": """
        MATCH (m:{begin} {{ref: toString(row.memory)}}) MATCH (e:{end} {{ref: toString(row.subject)}})
        CREATE (m)-[:STATES {{relation: row.relation}}]->(e)""",
    "SUPERSEDES": """
        MATCH (n:{begin} {{ref: toString(row.new)}}) MATCH (o:{end} {{ref: toString(row.old)}})
        CREATE (n)-[:SUPERSEDES {{at: row.at, origins: row.origins}}]->(o)""",
}
DROP_EDGE = {
    "HAS_CHUNK": "MATCH ()-[h:HAS_CHUNK]->(c:{end} {{ref: toString(row.key)}}) DELETE h",
    "RELATED_TO": "MATCH ()-[r:RELATED_TO {{ref: toString(row.set.key)}}]->() DELETE r",
    "WAS_RELATED_TO": "MATCH ()-[r:WAS_RELATED_TO {{ref: toString(row.set.key)}}]->() DELETE r",
    "MENTIONS": "MATCH (c)-[r:MENTIONS]->(e:{end} {{ref: toString(row.entity)}}) WHERE c.key = row.chunk DELETE r",
    "STATES": """
        MATCH ()-[s:STATES {{relation: row.relation}}]->() WITH row, s WHERE startNode(s).key = row.memory DELETE s""",
    "SUPERSEDES": "MATCH (n)-[s:SUPERSEDES]->(o:{end} {{ref: toString(row.old)}}) WHERE n.key = row.new DELETE s",
}
SET_LINK = """
    MATCH (n:{begin} {{ref: toString(row.new)}})-[s:SUPERSEDES]->(o) WHERE o.key = row.old
    SET s.at = row.at, s.origins = row.origins"""
PUT_META = "MATCH (w:Workspace) SET w += $meta"

EMBEDDING_KEYS = "MATCH (e:Embedding) RETURN e.key"


# the full text and the indexes
TERMS = "MATCH (c:Chunk) RETURN c.key, c.id, c.text, c.words, c.terms, c.length"
SET_TERMS = "MATCH (c:Chunk {ref: toString(row.key)}) SET c += row.set"
FULL_TEXT_AGAIN = "CALL db.idx.fulltext.createNodeIndex($label, {field: $field, nostem: true})"
# What a graph of an earlier version has not.
FILL = (
    "MATCH ()-[r:RELATED_TO]->() WHERE NOT r.relation_key IN $code_kinds SET r.told = r.relation_key",
    "MATCH ()-[r:WAS_RELATED_TO]->() WHERE NOT r.relation_key IN $code_kinds SET r.told = r.relation_key",
    "MATCH (c:Chunk) WHERE c.length IS NULL SET c.length = size(split(c.terms, ' '))",
    "MATCH (c:TrashedChunk) WHERE c.length IS NULL SET c.length = size(split(c.terms, ' '))",
)
INDEXES = "CALL db.indexes() YIELD label, types RETURN label, types"


def change_node(label: str, becomes: str, names: Iterable[str]) -> str:
    """Change the nodes that `row.at` names, and their label if it is another then."""
    relabel = "" if label == becomes else f" REMOVE n:{label} SET n:{becomes}"
    return f"{_found(label, names)}{relabel} SET n += row.set"


def change_edge(kind: str) -> str:
    return f"MATCH ()-[r:{kind} {{ref: toString(row.key)}}]->() SET r += row.set"


def drop_node(label: str, names: Iterable[str]) -> str:
    return f"{_found(label, names)} DETACH DELETE n"


def _found(label: str, names: Iterable[str]) -> str:
    return f"MATCH (n:{label}) WHERE " + " AND ".join(f"n.{name} = row.at.{name}" for name in names)


def of(query: str, **names: str) -> str:
    """The query with its labels: names of ours, never a value."""
    return query.format(**names)
