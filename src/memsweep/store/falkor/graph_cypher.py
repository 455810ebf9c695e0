"""The knowledge graph: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

from memsweep.store.falkor.origin_cypher import FIELDS as _ORIGIN
from memsweep.store.file import name_words

_ENTITY = "e.key, e.id, e.name, e.type, e.confidence, e.last_seen, e.pinned"
ENTITIES = f"""
    MATCH (e:Entity) WHERE ($search IS NULL OR e.name_key CONTAINS $search OR e.key IN $once_named)
      AND ($type IS NULL OR e.type_key = $type)
    OPTIONAL MATCH (e)<-[m:MENTIONS]-(:Chunk) WITH e, count(m) AS mentions
    OPTIONAL MATCH (e)-[r:RELATED_TO]-(:Entity) WITH e, mentions, count(DISTINCT r) AS relations
    RETURN {_ENTITY}, mentions, relations ORDER BY e.key"""
_NAMED = """
    MATCH (e:Entity) WHERE ($search = '' OR ($is_prefix AND e.name_key STARTS WITH $search)
        OR (NOT $is_prefix AND e.name_key CONTAINS $search) OR e.key IN $once_named)
      AND ($type = '' OR e.type_key = $type)"""
NAMED = f"""{_NAMED}
      AND (e.name_key > $name OR (e.name_key = $name AND e.type_key > $kind))
    WITH e ORDER BY e.name_key, e.type_key LIMIT $limit
    OPTIONAL MATCH (e)<-[m:MENTIONS]-(:Chunk) WITH e, count(m) AS mentions
    OPTIONAL MATCH (e)-[r:RELATED_TO]-(:Entity) WITH e, mentions, count(DISTINCT r) AS relations
    RETURN e.name_key, e.type_key, {_ENTITY}, mentions, relations ORDER BY e.name_key, e.type_key"""
COUNT_NAMED = f"{_NAMED} RETURN count(e)"
ONCE_NAMED_SO = """
    MATCH (a:Alias) WHERE ($is_prefix AND a.name_key STARTS WITH $search)
        OR (NOT $is_prefix AND a.name_key CONTAINS $search) RETURN DISTINCT a.entity"""
COUNT_MENTIONS_OF = "MATCH (e:Entity {ref: toString($key)})<-[m:MENTIONS]-(:Chunk) RETURN count(m)"
FACT_COUNTS = """
    MATCH (e:Entity {ref: toString($key)})-[r:RELATED_TO]-(:Entity) WITH DISTINCT r, startNode(r).key = $key AS outgoing
    WITH r.relation_key AS kind, outgoing, min(r.relation) AS relation, count(r) AS facts, count(r.invalid_at) AS ended
    RETURN relation, outgoing, facts - ended, ended ORDER BY facts DESC, kind, outgoing"""
ENTITIES_AT = (
    f"UNWIND $keys AS key MATCH (e:Entity {{ref: toString(key)}}) RETURN {_ENTITY}, 0 AS mentions, 0 AS relations"
)
EDGES_AT = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})-[r:RELATED_TO]-(:Entity)
    WHERE $kinds IS NULL OR r.relation_key IN $kinds
    WITH DISTINCT r, r.key AS fact
    OPTIONAL MATCH ()-[t:STATES {relation: fact}]->() WITH r, startNode(t) AS m ORDER BY m.key
    RETURN r.id, startNode(r).key, endNode(r).key, r.relation, r.weight, r.last_seen, r.valid_at, r.invalid_at,
           collect(CASE WHEN m.trash IS NULL THEN m.id END)"""

FACT_PROVENANCE = """
    UNWIND $ids AS id MATCH ()-[r:RELATED_TO {id: id}]->() WITH DISTINCT r
    OPTIONAL MATCH (c:Contribution {fact: r.ref})
    WHERE c.trash IS NULL AND c.act IN ['state', 'mention', 'confirm', 'see']
    WITH r, collect(DISTINCT CASE WHEN c IS NULL THEN NULL ELSE coalesce(c.origin, 0) END) AS by
    RETURN r.id, r.origin, r.created_at, r.released_at, by"""
ENTITY_PROVENANCE = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)}) WHERE e.origin > 0
    OPTIONAL MATCH (e)-[r:RELATED_TO]-() WITH e, collect(DISTINCT r.id) AS facts
    RETURN e.key, e.origin, e.created_at, facts"""
MENTION_PROVENANCE = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})<-[n:MENTIONS]-(:Chunk)<-[:HAS_CHUNK]-(m:Memory)
    RETURN DISTINCT e.key, m.origin, m.created_at, m.released_at, n.origin"""
# A name as `store.file.name_words` takes it apart: what is asked for begins one of its words that are looked at.
_SPACED = "e.name_key"
for _sign in name_words.SIGNS:
    _SPACED = f"replace({_SPACED}, '{_sign}', ' ')"
_BEGINS = f"""
    WITH e, split({_SPACED}, ' ') AS words
    WHERE any(at IN [0, 1, 2, 3, size(words) - 1] WHERE any(start IN $starts WHERE words[at] STARTS WITH start))"""
# Of those that state a fact: how many are live, how many of them have not expired, and how many are no files. What live
# memories say, all of which have expired, and nobody by itself (`memsweep.model.sources`), has expired with them.
_HOLDING = """count(CASE WHEN m.trash IS NULL THEN m.key END) AS live,
    count(CASE WHEN m.trash IS NULL AND (m.expires_at IS NULL OR m.expires_at > $expired_by) THEN m.key END) AS holding,
    count(CASE WHEN m.source <> 'code_indexer' THEN m.key END) AS statements"""
_ONLY_EXPIRED = "(live > 0 AND holding = 0 AND NOT (r.handed_in AND r.evidence > statements))"
EXPIRED_FACTS = f"""
    MATCH (gone:Memory) WHERE gone.expires_at <= $expired_by MATCH (gone)-[s:STATES]->()
    WITH DISTINCT s.relation AS fact MATCH ()-[r:RELATED_TO {{ref: toString(fact)}}]->() WITH DISTINCT fact, r
    MATCH ()-[t:STATES {{relation: fact}}]->() WITH r, startNode(t) AS m
    WITH r, {_HOLDING} WHERE {_ONLY_EXPIRED} RETURN r.id"""
# What only files of code say is found as code. The server reads the bounds of an index in small letters: so is `told`.
STATEMENTS_ABOUT = (
    f"""
    CALL {{
        MATCH (e:Entity) WHERE e.name_key IN $named MATCH (e)-[r:RELATED_TO]-(:Entity)
        RETURN r.key AS fact, e.key AS via
        UNION
        CALL db.idx.fulltext.queryNodes('Entity', $begins) YIELD node
        WITH node AS e WHERE e.handed_in {_BEGINS}
        MATCH (e)-[r:RELATED_TO]-(:Entity) RETURN r.key AS fact, e.key AS via
        UNION
        MATCH (a:Alias) WHERE a.name_key IN $named WITH a.entity AS own
        MATCH (e:Entity {{ref: toString(own)}}) MATCH (e)-[r:RELATED_TO]-(:Entity) RETURN r.key AS fact, e.key AS via
        UNION
        UNWIND $kind_ranges AS range MATCH ()-[r:RELATED_TO]->() WHERE r.told >= range[0] AND r.told < range[1]
        WITH r WHERE any(form IN $forms WHERE r.relation STARTS WITH form) RETURN r.key AS fact, 0 AS via
    }}
    WITH fact, count(via) AS parts
    MATCH ()-[r:RELATED_TO {{ref: toString(fact)}}]->() WHERE $ended OR r.invalid_at IS NULL
    OPTIONAL MATCH ()-[t:STATES {{relation: fact}}]->() WITH r, parts, startNode(t) AS m
    WITH r, parts, sum(CASE WHEN m.trash IS NULL AND m.source <> 'code_indexer' THEN 1 ELSE 0 END) AS notes, {_HOLDING}
    WHERE (r.handed_in OR notes > 0) AND ($expired_by IS NULL OR NOT {_ONLY_EXPIRED})
    WITH r.id AS id, startNode(r).name AS subject, r.relation AS relation, endNode(r).name AS object, parts,
         r.created_at AS at, r.last_seen AS seen, r.valid_at AS valid, r.invalid_at AS invalid, r.origin AS origin
    ORDER BY parts DESC, at DESC, subject, relation, object, id LIMIT $limit
    OPTIONAL MATCH (o:Origin {{ref: toString(origin)}})
    RETURN id, subject, relation, object, at, seen, valid, invalid, """
    + _ORIGIN
    + " ORDER BY parts DESC, at DESC, subject, relation, object, id"
)

# steps
SEE_END = """
    MATCH (e:Entity {ref: toString(row.key)})
    SET e.handed_in = true, e.confidence = 1.0, e.version = e.version + row.times,
        e.last_seen = CASE WHEN e.last_seen > row.at THEN e.last_seen ELSE row.at END,
        e.origin = CASE WHEN coalesce(e.origin, 0) = row.origin THEN e.origin ELSE 0 END"""
ADD_SOURCE = """
    MATCH (m:Memory {ref: toString(row.memory)}) MATCH (e:Entity {ref: toString(row.subject)})
    MERGE (m)-[:STATES {relation: row.relation}]->(e)"""
FIND = """
    MATCH (e:Entity {id: $id}) RETURN e.key, 0 AS named, true AS explicit, true AS pinned, 0 AS seen
    UNION ALL
    MATCH (e:Entity {name_key: $exact}) RETURN e.key, 0 AS named, e.handed_in AS explicit, e.pinned AS pinned, 0 AS seen
    UNION ALL
    MATCH (e:Entity {name_key: $name})
    RETURN e.key, 1 AS named, e.handed_in AS explicit, e.pinned AS pinned, e.last_seen AS seen
    UNION ALL
    MATCH (a:Alias {name_key: $name}) WITH a MATCH (e:Entity {ref: toString(a.entity)})
    RETURN e.key, 2 AS named, e.handed_in AS explicit, e.pinned AS pinned, e.last_seen AS seen"""
FIND_ANY_CASE = """
    MATCH (e:Entity) WHERE e.name_key STARTS WITH $start
    RETURN e.key, 3 AS named, e.handed_in AS explicit, e.pinned AS pinned, e.last_seen AS seen"""
ONCE_NAMED = "MATCH (a:Alias) WHERE a.name_key CONTAINS $search RETURN DISTINCT a.entity"

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
