"""Who stated facts and entities: statements. Pure text; values are always bound, sets of keys are JSON lists."""

from __future__ import annotations

FACTS = """
    select uid, origin, created_at, released_at,
           (select json_group_array(distinct contribution.origin) from contribution
            where contribution.relation = relation.id and contribution.trash is null
              and act in ('state', 'mention', 'confirm', 'see'))
    from relation where trash is null and uid in (select value from json_each(?))"""
ENTITIES = """
    select id, origin, created_at,
           (select json_group_array(relation.uid) from relation
            where relation.trash is null and entity.id in (relation.subject, relation.object))
    from entity where trash is null and origin > 0 and id in (select value from json_each(?))"""
MENTIONS = """
    select distinct mention.entity, memory.origin, memory.created_at, memory.released_at, mention.origin
    from mention join chunk on chunk.id = mention.chunk join memory on memory.id = chunk.memory
    where mention.trash is null and memory.trash is null and mention.entity in (select value from json_each(?))"""
