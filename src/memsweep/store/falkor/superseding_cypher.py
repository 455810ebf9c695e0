"""Cypher of links between memories and those that took their place. Pure text; every value is a parameter.

A link stays between its two memories when one of them, or both, are moved to the trash and back.
"""

from __future__ import annotations

OLDER = """
    MATCH (m:Memory {id: $id})-[s:SUPERSEDES]->(o:Memory) RETURN o.id, s.at ORDER BY o.key DESC"""
NEWER = """
    MATCH (m:Memory {id: $id})<-[s:SUPERSEDES]-(n:Memory) RETURN n.id, s.at ORDER BY n.key"""
LINKS = "MATCH (n:Memory)-[s:SUPERSEDES]->(o:Memory) RETURN o.key, n.key, s.at ORDER BY o.key, n.key"
