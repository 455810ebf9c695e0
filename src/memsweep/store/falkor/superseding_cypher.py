"""Cypher of links between memories and those that took their place. Pure text; every value is a parameter.

A link stays between its two memories when one of them, or both, are moved to the trash and back.
"""

from __future__ import annotations

TO_SUPERSEDE = "UNWIND $ids AS id MATCH (m:Memory {id: id}) RETURN m.id, m.key, m.source"
LINKS_UNDER = """
    UNWIND $newer AS key MATCH (n:Memory {ref: toString(key)})-[s:SUPERSEDES]->(o)
    RETURN o.key, n.key, s.origins, o.trash IS NOT NULL"""
LINKS_OVER = """
    MATCH (o:Memory {ref: toString($memory)})<-[s:SUPERSEDES]-(n)
    RETURN o.key, n.key, s.origins, n.trash IS NOT NULL"""
LINKS_BESIDE = """
    MATCH (:Memory {ref: toString($memory)})<-[:SUPERSEDES]-(n) WITH DISTINCT n MATCH (n)-[s:SUPERSEDES]->(o)
    RETURN o.key, n.key, s.origins, o.trash IS NOT NULL"""
ADD_LINK = """
    MATCH (n:{begin} {{ref: toString(row.new)}}) MATCH (o:{end} {{ref: toString(row.old)}})
    MERGE (n)-[s:SUPERSEDES]->(o) ON CREATE SET s.at = row.at SET s.origins = row.origins"""
OLDER = """
    MATCH (m:Memory {id: $id})-[s:SUPERSEDES]->(o:Memory) RETURN o.id, s.at ORDER BY o.key DESC"""
NEWER = """
    MATCH (m:Memory {id: $id})<-[s:SUPERSEDES]-(n:Memory) RETURN n.id, s.at ORDER BY n.key"""
LINKS = "MATCH (n:Memory)-[s:SUPERSEDES]->(o:Memory) RETURN o.key, n.key, s.at ORDER BY o.key, n.key"


def add_link(*, new_is_trashed: bool, old_is_trashed: bool) -> str:
    new, old = ("TrashedMemory" if trashed else "Memory" for trashed in (new_is_trashed, old_is_trashed))
    return ADD_LINK.format(begin=new, end=old)
