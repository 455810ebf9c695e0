"""The knowledge graph: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

from memsweep.store import words
from memsweep.store.falkor.origin_cypher import FIELDS as _ORIGIN

# A name as `store.file.name_words` takes it apart: what is asked for begins one of its words that are looked at.
_SPACED = "e.name_key"
for _sign in words.SIGNS:
    _SPACED = f"replace({_SPACED}, '{_sign}', ' ')"
_BEGINS = f"""
    WITH e, split({_SPACED}, ' ') AS words
    WHERE any(at IN [0, 1, 2, 3, size(words) - 1] WHERE any(start IN $starts WHERE words[at] STARTS WITH start))"""
# Of those that state a fact: how many are live, how many of them have not expired, and how many are no files. What live
# memories say, all of which have expired, and nobody by itself (`memsweep.model.contribution`), has expired with them.
_HOLDING = """count(CASE WHEN m.trash IS NULL THEN m.key END) AS live,
    count(CASE WHEN m.trash IS NULL AND (m.expires_at IS NULL OR m.expires_at > $expired_by) THEN m.key END) AS holding,
    count(CASE WHEN m.source <> 'code_indexer' THEN m.key END) AS statements"""
_ONLY_EXPIRED = "(live > 0 AND holding = 0 AND NOT (r.handed_in AND r.evidence > statements))"
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
