"""Who said memories and who updated them: Cypher. Pure text; every value is a parameter.

`of` is the key of the memory as text, which the indexes find faster.
"""

from __future__ import annotations

MENTIONS = tuple(
    f"""
    UNWIND $keys AS key MATCH (m:{prefix}Memory {{ref: toString(key)}})-[:HAS_CHUNK]->(c)-[n:MENTIONS]->(e{live})
    RETURN m.key, c.position, c.key, e.key, n.origin"""
    for prefix, live in (("", ":Entity"), ("Trashed", ""))
)
MENTIONED_BY = """
    MATCH (c:Chunk)-[n:MENTIONS]->(:Entity) WHERE n.origin IN $origins RETURN DISTINCT c.memory"""
DROP_MENTION = tuple(
    f"MATCH (c:{chunk} {{ref: toString(row.chunk)}})-[n:MENTIONS]->(e) WHERE e.key = row.entity DELETE n"
    for chunk in ("Chunk", "TrashedChunk")
)
# One that is there stays whose it was.
ADD_MENTION = tuple(
    f"""
    MATCH (c:{chunk} {{ref: toString(row.chunk)}}) MATCH (e:{entity} {{ref: toString(row.entity)}})
    MERGE (c)-[n:MENTIONS]->(e) ON CREATE SET n.origin = row.origin"""
    for chunk in ("Chunk", "TrashedChunk")
    for entity in ("Entity", "TrashedEntity")
)
ADD_MENTION_AT = tuple(
    f"""
    MATCH (m:{memory} {{ref: toString(row.memory)}})-[:HAS_CHUNK]->(c) WHERE c.position = row.position
    MATCH (e:{entity} {{ref: toString(row.entity)}})
    MERGE (c)-[n:MENTIONS]->(e) ON CREATE SET n.origin = row.origin"""
    for memory in ("Memory", "TrashedMemory")
    for entity in ("Entity", "TrashedEntity")
)
# What a memory mentions as its own, with what is needed to tell whether its text does.
OWN_MENTIONS = """
    MATCH (m:Memory {ref: toString($memory)})-[:HAS_CHUNK]->(c:Chunk)-[n:MENTIONS]->(e:Entity) WHERE n.origin IS NULL
    RETURN c.position, e.key, e.name, c.text"""
