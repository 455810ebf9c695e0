"""The graph as a whole: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

# What is large is read in pages: the keys first, then what belongs to some of them.
ENTITY_KEYS = "MATCH (e:Entity) RETURN e.key ORDER BY e.key"
SURVEY_ENTITIES = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)}) OPTIONAL MATCH (e)<-[m:MENTIONS]-(:Chunk)
    WITH e, count(m) AS mentions
    RETURN e.key, e.id, e.name, e.type, e.confidence, e.last_seen, e.pinned, mentions, 0 ORDER BY e.key"""
SURVEY_EDGES = """
    UNWIND $keys AS key MATCH (s:Entity {ref: toString(key)})-[r:RELATED_TO]->(o:Entity)
    RETURN r.key, r.id, s.key, o.key, r.relation, r.weight, r.last_seen, r.valid_at, r.invalid_at"""
KNOWN_NAMES = """
    UNWIND $names AS name MATCH (e:Entity {name_key: name}) RETURN e.last_seen, e.key, e.name_key, e.name"""

DUMP_ENTITIES = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})
    RETURN e.key, e.name_key, e.type_key, e.id, e.name, e.type, e.confidence, e.handed_in, e.pinned, e.created_at,
           e.last_seen"""
DUMP_RELATIONS = """
    UNWIND $keys AS key MATCH (s:Entity {ref: toString(key)})-[r:RELATED_TO]->(o:Entity)
    RETURN s.key, r.relation_key, o.key, r.id, r.relation, r.weight, r.evidence, r.handed_in, r.created_at,
           r.last_seen, r.valid_at, r.invalid_at"""
ALIASES = "MATCH (a:Alias) RETURN a.entity, a.name_key, a.type_key, a.name"

# what an import finds there
LOAD_ENTITIES = """
    UNWIND $names AS name MATCH (e:Entity {name_key: name})
    RETURN e.key, e.name_key, e.type_key, e.confidence, e.handed_in, e.pinned, e.created_at, e.last_seen, e.id"""
LOAD_RELATIONS = """
    UNWIND $keys AS key MATCH (s:Entity {ref: toString(key)})-[r:RELATED_TO]->(o:Entity)
    RETURN r.key, s.key, r.relation_key, o.key, r.invalid_at, r.weight, r.evidence, r.handed_in, r.created_at,
           r.last_seen, r.valid_at ORDER BY r.key"""
ENTITY_IDS = "UNWIND $ids AS id MATCH (e:Entity {id: id}) RETURN e.id"
GONE_ENTITY_IDS = "UNWIND $ids AS id MATCH (e:TrashedEntity {id: id}) RETURN e.id"
RELATION_IDS = "UNWIND $ids AS id MATCH ()-[r:RELATED_TO {id: id}]->() RETURN r.id"
TRASHED_RELATION_IDS = "MATCH ()-[r:WAS_RELATED_TO]->() RETURN r.id"
ADD_ALIAS = "CREATE (a:Alias) SET a = row"
