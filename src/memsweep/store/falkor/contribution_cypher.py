"""What made facts what they are, and what origins brought: Cypher. Pure text; every value is a parameter.

`fact` is the key of the relation as text, which the indexes find faster.
"""

from __future__ import annotations

ADD = "CREATE (:Contribution {*row})"
# Of a fact that nobody has contributed to since they are kept, the first one that does says what it was before.
ADD_IF_ANY = """
    OPTIONAL MATCH (c:Contribution {fact: row.fact}) WITH row, count(c) AS there WHERE there > 0
    CREATE (n:Contribution) SET n = row SET n.ref = toString(row.key)"""
_ACT = """
    c.relation, c.act, c.at, c.rate, c.value, c.explicit, c.valid_at, c.origin, c.memory, c.before, c.after, c.key,
    c.trash"""
JOURNAL = f"UNWIND $facts AS fact MATCH (c:Contribution {{fact: fact}}) RETURN {_ACT} ORDER BY c.key"
_OF = "($origins IS NULL OR {of}.origin IN $origins)"
ACTS = f"""
    MATCH (c:Contribution) WHERE c.trash IS NULL AND {_OF.format(of="c")} RETURN {_ACT} ORDER BY c.key"""
FACTS = """
    UNWIND $keys AS key MATCH ()-[r:RELATED_TO {ref: toString(key)}]->()
    RETURN r.key, r.version, r.weight, r.last_seen, r.evidence, r.handed_in, r.created_at, r.valid_at, r.invalid_at"""
TRASHED_FACTS = FACTS.replace("RELATED_TO", "WAS_RELATED_TO")
TAKE_BACK = "MATCH (c:Contribution {ref: toString(row.key)}) SET c.trash = row.trash"
TAKEN_BACK = "MATCH (c:Contribution) WHERE c.trash = $receipt RETURN DISTINCT c.relation"
GIVE_BACK = "MATCH (c:Contribution) WHERE c.trash = row SET c.trash = NULL"
RELEASE_FACT = """
    MATCH ()-[r:RELATED_TO {ref: toString(row.key)}]->() SET r.released_at = row.at, r.version = r.version + 1"""
SET_FACT = "MATCH ()-[r:RELATED_TO {ref: toString(row.key)}]->() SET r += row.set"
SET_TRASHED_FACT = SET_FACT.replace("RELATED_TO", "WAS_RELATED_TO")
FREE = "MATCH (c:Contribution {fact: toString(row)}) DELETE c"

MEMORIES = f"MATCH (m:Memory) WHERE {_OF.format(of='m')} RETURN m.key, m.source, m.created_at"
RELATIONS = f"MATCH ()-[r:RELATED_TO]->() WHERE {_OF.format(of='r')} RETURN r.key, r.created_at"
ENTITIES = f"MATCH (e:Entity) WHERE {_OF.format(of='e')} RETURN e.key, e.created_at"
SEGMENTS = f"""
    MATCH (s:Segment) WHERE NOT s.pinned AND {_OF.format(of="s")} RETURN s.key, s.project, s.created_at"""
