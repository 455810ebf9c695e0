"""Entities, relations and mentions, live or in the trash: Cypher. Pure text; every value is a parameter.

What is in the trash has other labels: a query of a form is asked once for each of them.
"""

from __future__ import annotations

# entities
# The same where no entity is in the trash.
MENTIONED_BY = """
    MATCH (one:TrashedEntity) WITH one LIMIT 1
    UNWIND $memories AS key MATCH (m:TrashedMemory {ref: toString(key)})-[:HAS_CHUNK]->()-[:MENTIONS]->(e:TrashedEntity)
    RETURN DISTINCT e.key"""
TRASH_ENTITY = "MATCH (n:Entity {ref: toString(row.key)}) REMOVE n:Entity SET n:TrashedEntity SET n.trash = row.trash"
HAND_ON_ENTITY = "MATCH (e:TrashedEntity {ref: toString(row.key)}) SET e.trash = row.trash"

# relations
_RELATION = """
    r.key, r.id, startNode(r).key, endNode(r).key, r.relation_key, r.weight, r.last_seen, r.evidence, r.handed_in,
    r.version, r.trash, r.invalid_at, startNode(r).trash IS NULL, endNode(r).trash IS NULL"""
RELATIONS_AT = (
    f"UNWIND $keys AS key MATCH ()-[r:{{relation}} {{{{ref: toString(key)}}}}]->() RETURN DISTINCT {_RELATION}"
)
RELATIONS_BY_ID = f"UNWIND $ids AS id MATCH ()-[r:RELATED_TO {{id: id}}]->() RETURN DISTINCT {_RELATION}"
RELATIONS_TOUCHING = f"""
    UNWIND $keys AS key MATCH (e:{{entity}} {{{{ref: toString(key)}}}})-[r:RELATED_TO|WAS_RELATED_TO]-()
    WHERE r.trash IS NULL OR r.trash <> $besides RETURN DISTINCT {_RELATION}"""
CURRENT_AT = f"""
    MATCH (e:Entity {{ref: toString($key)}})-[r:RELATED_TO]-()
    WHERE r.invalid_at IS NULL AND r.relation_key IN $kinds RETURN DISTINCT {_RELATION}"""
CURRENT_BETWEEN = f"""
    UNWIND $ends AS ends
    MATCH (s:Entity {{ref: toString(ends[0])}})-[r:RELATED_TO]->(o:Entity {{ref: toString(ends[2])}})
    WHERE r.relation_key = ends[1] AND r.invalid_at IS NULL RETURN {_RELATION}"""
RELATIONS_TRASHED_BY = f"""
    UNWIND $receipts AS receipt MATCH ()-[r:WAS_RELATED_TO {{trash: receipt}}]->() RETURN DISTINCT {_RELATION}"""
# Many memories are asked about at once, each for 5 microseconds: not where nothing is stated at all.
STATED_BY = """
    MATCH ()-[one:STATES]->() WHERE one.relation > 0 WITH one LIMIT 1
    UNWIND $memories AS key MATCH (m:TrashedMemory {ref: toString(key)})-[s:STATES]->() RETURN DISTINCT s.relation"""
SOURCES = "UNWIND $keys AS key MATCH (m)-[:STATES {relation: key}]->() RETURN key, m.key, m.trash IS NULL"
RELATIONS_NEEDED_BY = """
    UNWIND $keys AS key MATCH ()-[s:STATES {relation: key}]->() WITH key, startNode(s) AS m
    WHERE m.trash IS NOT NULL AND NOT m.trash IN $receipts RETURN key, max(m.trash)"""
RESTORE_RELATION = """
    MATCH (s)-[r:WAS_RELATED_TO {ref: toString(row)}]->(o)
    CREATE (s)-[n:RELATED_TO]->(o) SET n = properties(r) SET n.trash = NULL DELETE r"""
TRASH_RELATION = """
    MATCH (s)-[r:RELATED_TO {ref: toString(row.key)}]->(o)
    CREATE (s)-[n:WAS_RELATED_TO]->(o) SET n = properties(r) SET n.trash = row.trash DELETE r"""
HAND_ON_RELATION = "MATCH ()-[r:WAS_RELATED_TO {ref: toString(row.key)}]->() SET r.trash = row.trash"
_MOVE_RELATION = """
    MATCH ()-[r:{before} {{ref: toString(row.key)}}]->()
    MATCH (s:{subject} {{ref: toString(row.subject)}}) MATCH (o:{object} {{ref: toString(row.object)}})
    CREATE (s)-[n:{after}]->(o) SET n = properties(r) SET n += row.set DELETE r"""
_SET_RELATION = "MATCH ()-[r:{relation} {{ref: toString(row.key)}}]->() SET r += row.set"
_ADD_SOURCE = """
    MATCH (m:{memory} {{ref: toString(row.memory)}}) MATCH (e:Entity {{ref: toString(row.subject)}})
    CREATE (m)-[:STATES {{relation: row.relation}}]->(e)"""
_MOVE_SOURCES = """
    MATCH (m)-[s:STATES {{relation: row.relation}}]->() MATCH (e:{entity} {{ref: toString(row.subject)}})
    CREATE (m)-[:STATES {{relation: row.relation}}]->(e) DELETE s"""
DROP_SOURCE = (
    "MATCH ()-[s:STATES {relation: row.relation}]->() WITH row, s WHERE startNode(s).key = row.memory DELETE s"
)


def live_and_trashed(query: str) -> tuple[str, str]:
    """The same question about what is live and about what is in the trash."""
    return tuple(query.format(entity=_entity(live), relation=_relation(live)) for live in (True, False))  # type: ignore[return-value]


def move_relation(*, was_live: bool, is_live: bool, subject_lives: bool, object_lives: bool) -> str:
    """A relation between other ends, or of the other type: it is made again, with all that it has."""
    ends = {"subject": _entity(subject_lives), "object": _entity(object_lives)}
    return _MOVE_RELATION.format(before=_relation(was_live), after=_relation(is_live), **ends)


def set_relation(*, is_live: bool) -> str:
    return _SET_RELATION.format(relation=_relation(is_live))


def add_source(*, memory_lives: bool) -> str:
    return _ADD_SOURCE.format(memory="Memory" if memory_lives else "TrashedMemory")


def move_sources(*, subject_lives: bool) -> str:
    """A statement leads to where its relation begins."""
    return _MOVE_SOURCES.format(entity=_entity(subject_lives))


def _relation(live: bool) -> str:
    return "RELATED_TO" if live else "WAS_RELATED_TO"


def _entity(live: bool) -> str:
    return "Entity" if live else "TrashedEntity"
