"""What makes several entities one, and takes them apart again: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

ENTITIES = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})
    RETURN e.key, e.id, e.name, e.name_key, e.type_key, e.confidence, e.last_seen, e.handed_in, e.pinned, e.version"""
TYPE_OF = "MATCH (e:Entity {ref: toString($key)}) RETURN e.type"
COUNT_MENTIONS = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})<-[:MENTIONS]-(:Chunk) RETURN count(*)"""
COUNT_RELATIONS = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})-[r:RELATED_TO]-() RETURN count(DISTINCT r)"""

# mentions
MENTIONS_OF = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})<-[:MENTIONS]-(c)
    RETURN e.key, c.key, c.trash IS NULL ORDER BY c.key"""
MENTIONED_TOO = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})<-[:MENTIONS]-(c)
    WITH DISTINCT c MATCH (c)-[:MENTIONS]->(t:Entity {ref: toString($target)}) RETURN c.key"""
MENTIONS_IN = """
    UNWIND $memories AS id MATCH (m:Memory {id: id})-[:HAS_CHUNK]->(c:Chunk)
    WITH c MATCH (c)-[:MENTIONS]->(e:Entity {ref: toString($key)}) RETURN DISTINCT c.key"""
DROP_MENTIONS = "MATCH (e:Entity {ref: toString(row)})<-[r:MENTIONS]-() DELETE r"
DROP_MENTION = "MATCH (e:Entity {ref: toString(row.entity)})<-[r:MENTIONS]-(c) WHERE c.key = row.chunk DELETE r"

# relations, live or in the trash
_RELATION = """
    r.key, startNode(r).key, endNode(r).key, r.relation_key, r.weight, r.last_seen, r.evidence, r.handed_in,
    r.version, r.trash, r.invalid_at, startNode(r).trash IS NULL, endNode(r).trash IS NULL, r.id"""
RELATIONS_OF = f"""
    UNWIND $keys AS key MATCH (e:Entity {{ref: toString(key)}})-[r:RELATED_TO|WAS_RELATED_TO]-()
    RETURN DISTINCT {_RELATION}"""
TWINS = f"""
    MATCH (e:Entity {{ref: toString($target)}})-[r:RELATED_TO]-()
    WHERE r.invalid_at IS NULL AND r.relation_key IN $kinds RETURN DISTINCT {_RELATION}"""
_RELATIONS_AT = f"UNWIND $keys AS key MATCH ()-[r:{{kind}} {{{{ref: toString(key)}}}}]->() RETURN DISTINCT {_RELATION}"
RELATIONS_AT = tuple(_RELATIONS_AT.format(kind=kind) for kind in ("RELATED_TO", "WAS_RELATED_TO"))
RELATIONS_BY_ID = f"UNWIND $ids AS id MATCH ()-[r:RELATED_TO {{id: id}}]->() RETURN DISTINCT {_RELATION}"
SOURCES = "UNWIND $keys AS key MATCH (m)-[:STATES {relation: key}]->() RETURN key, m.key, m.trash IS NULL"
_MOVE_RELATION = """
    MATCH ()-[r:{before} {{ref: toString(row.key)}}]->()
    MATCH (s:{subject} {{ref: toString(row.subject)}}) MATCH (o:{object} {{ref: toString(row.object)}})
    CREATE (s)-[n:{after}]->(o) SET n = properties(r) SET n += row.set DELETE r"""
_SET_RELATION = "MATCH ()-[r:{kind} {{ref: toString(row.key)}}]->() SET r += row.set"
ADD_SOURCE = """
    MATCH (m:{memory} {{ref: toString(row.memory)}}) MATCH (e:Entity {{ref: toString(row.subject)}})
    CREATE (m)-[:STATES {{relation: row.relation}}]->(e)"""
MOVE_SOURCES = """
    MATCH (m)-[s:STATES {relation: row.relation}]->() MATCH (e:Entity {ref: toString(row.subject)})
    CREATE (m)-[:STATES {relation: row.relation}]->(e) DELETE s"""
DROP_SOURCE = (
    "MATCH ()-[s:STATES {relation: row.relation}]->() WITH row, s WHERE startNode(s).key = row.memory DELETE s"
)

# other names
ALIASES_OF = (
    "UNWIND $keys AS key MATCH (a:Alias {entity: key}) RETURN a.name_key, a.type_key, a.name, a.entity, a.receipt"
)
ALIASES_NAMED = """
    UNWIND $names AS name MATCH (a:Alias {name_key: name[0]}) WHERE a.type_key = name[1]
    RETURN a.name_key, a.type_key, a.name, a.entity, a.receipt"""
SET_ALIAS = "MERGE (a:Alias {name_key: row.name_key, type_key: row.type_key}) SET a = row"
# Only what is there, and only merges that were not taken apart.
THERE = "UNWIND $keys AS key MATCH (e:{label} {{ref: toString(key)}}) RETURN e.key"
UNDONE = "UNWIND $keys AS key MATCH (r:Receipt {ref: toString(key)}) WHERE r.undone_at IS NOT NULL RETURN r.key"
POINT_ALIAS = "MATCH (a:Alias {name_key: row.name_key}) WHERE a.type_key = row.type_key SET a.entity = row.entity"
DROP_ALIAS = "MATCH (a:Alias {name_key: row.name_key}) WHERE a.type_key = row.type_key DELETE a"
DROP_ALIASES = "MATCH (a:Alias {receipt: row}) DELETE a"
DROP_ALIASES_OF = "MATCH (a:Alias {entity: row}) DELETE a"

# entities and what was moved
SET_ENTITY = "MATCH (e:Entity {ref: toString(row.key)}) SET e += row.set"
ADD_MOVE = """
    CREATE (:MergeMove {receipt: row.receipt, place: row.place, kind: row.kind, a: row.a, b: row.b, c: row.c,
                        said: row.said})"""
MOVES = "MATCH (m:MergeMove {receipt: $receipt}) RETURN m.kind, m.a, m.b, m.c, m.said ORDER BY m.place DESC"
DROP_MOVES = "MATCH (m:MergeMove {receipt: row}) DELETE m"
TARGETS = "MATCH (m:MergeMove {kind: 'target'}) RETURN DISTINCT m.receipt, m.a"
_OF_MERGES = "UNWIND $receipts AS receipt MATCH (m:MergeMove {receipt: receipt})"
TARGET_STEPS = f"{_OF_MERGES} WHERE m.kind = 'target' RETURN m.receipt, m.place, m.b, m.c, m.said"
STRENGTH_STEPS = f"""
    {_OF_MERGES} WHERE m.kind = 'strength' RETURN m.a, m.receipt, m.place, m.b, m.said ORDER BY m.receipt, m.place"""
SOURCE_STRENGTHS = """
    UNWIND $receipts AS receipt MATCH (e:TrashedEntity {trash: receipt})
    RETURN e.key, e.trash, e.confidence, e.last_seen, e.handed_in, e.pinned"""
SHARED_MENTIONS = f"""
    {_OF_MERGES} WHERE m.kind = 'mention' AND m.c IS NULL RETURN m.a, m.receipt, m.place ORDER BY m.receipt, m.place"""
MOVED_ENDS = f"{_OF_MERGES} WHERE m.kind IN ['subject', 'object'] RETURN m.receipt, m.kind, m.a, m.b"
MOVED_NAMES = f"{_OF_MERGES} WHERE m.kind = 'alias' RETURN m.receipt, m.a, m.said ORDER BY m.receipt"
LAST_PLACES = f"{_OF_MERGES} RETURN receipt, max(m.place)"
SET_MOVE = "MATCH (m:MergeMove {receipt: row.receipt}) WHERE m.place = row.place SET m += row.set"
# Another entity stands for one that does not come back, or that is gone for good.
MOVE_ALIASES = "MATCH (a:Alias {entity: row.entity}) SET a.entity = row.twin"
_TAKEN_OVER = "MATCH (m:MergeMove {receipt: row.receipt}) WHERE"
MOVE_TARGETS = f"{_TAKEN_OVER} m.kind = 'target' AND m.a = row.entity SET m.a = row.twin SET m.c = NULL"
MOVE_NAMES = f"{_TAKEN_OVER} m.kind = 'name' AND m.a = row.entity SET m.a = row.twin"
MOVE_MENTION_MOVES = f"{_TAKEN_OVER} m.kind = 'mention' AND m.c = row.entity SET m.c = row.twin"
TAKE_OVER = (MOVE_TARGETS, MOVE_NAMES, MOVE_MENTION_MOVES)
HOLDER = """
    MATCH (e:TrashedEntity {ref: toString($key)}) WHERE e.trash <> $receipt
    WITH e MATCH (r:Receipt {ref: toString(e.trash)})
    RETURN e.name, r.id"""
SOURCES_OF_RECEIPT = """
    MATCH (e:TrashedEntity {trash: $receipt}) RETURN e.key, e.id, e.name, e.name_key, e.type_key ORDER BY e.key"""

# fading
ENTITY_BASES = """
    MATCH (e:Entity) RETURN e.key, e.id, e.name, e.type, e.confidence, e.last_seen, e.current ORDER BY e.key"""
RELATION_BASES = """
    MATCH (s:Entity)-[r:RELATED_TO]->(o:Entity) WHERE r.weight IS NOT NULL
    RETURN r.key, r.id, s.name + ' ' + r.relation + ' ' + o.name, r.relation, r.weight, r.last_seen, r.current
    ORDER BY r.key"""
# What a fact counts now is kept beside its base, for who looks into the graph; nothing is computed from it.
STORE_CONFIDENCE = "MATCH (e:Entity {ref: toString(row.key)}) SET e.current = row.current"
STORE_WEIGHT = "MATCH ()-[r:RELATED_TO {ref: toString(row.key)}]->() SET r.current = row.current"


def move_relation(*, was_live: bool, is_live: bool, subject_lives: bool, object_lives: bool) -> str:
    """A relation between other ends, or of the other type: it is made again, with all that it has."""
    return _MOVE_RELATION.format(
        before=_kind(was_live), after=_kind(is_live), subject=_entity(subject_lives), object=_entity(object_lives)
    )


def set_relation(*, is_live: bool) -> str:
    return _SET_RELATION.format(kind=_kind(is_live))


def add_source(*, memory_lives: bool) -> str:
    return ADD_SOURCE.format(memory="Memory" if memory_lives else "TrashedMemory")


def move_sources(*, subject_lives: bool) -> str:
    return MOVE_SOURCES.replace("(e:Entity", f"(e:{_entity(subject_lives)}")


def there(*, live: bool) -> str:
    return THERE.format(label=_entity(live))


def _kind(live: bool) -> str:
    return "RELATED_TO" if live else "WAS_RELATED_TO"


def _entity(live: bool) -> str:
    return "Entity" if live else "TrashedEntity"
