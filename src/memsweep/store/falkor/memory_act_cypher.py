"""Cypher of the acts of memories. Pure text; every value is a parameter.

`of` is the key of the memory as text, which the indexes find faster.
"""

from __future__ import annotations

MENTIONS = tuple(
    f"""
    UNWIND $keys AS key MATCH (m:{prefix}Memory {{ref: toString(key)}})-[:HAS_CHUNK]->(c)-[n:MENTIONS]->(e{live})
    RETURN m.key, c.position, c.key, e.key, n.origin"""
    for prefix, live in (("", ":Entity"), ("Trashed", ""))
)
ADD_MENTION_AT = tuple(
    f"""
    MATCH (m:{memory} {{ref: toString(row.memory)}})-[:HAS_CHUNK]->(c) WHERE c.position = row.position
    MATCH (e:{entity} {{ref: toString(row.entity)}})
    MERGE (c)-[n:MENTIONS]->(e) ON CREATE SET n.origin = row.origin"""
    for memory in ("Memory", "TrashedMemory")
    for entity in ("Entity", "TrashedEntity")
)
