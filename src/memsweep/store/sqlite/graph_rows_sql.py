"""Entities, relations and mentions, live or in the trash: statements. Pure text; values are always bound.

Sets of keys are JSON lists.
"""

from __future__ import annotations

# entities
MENTIONED_BY = """
    select distinct entity.id from json_each(?) as wanted join chunk on chunk.memory = wanted.value
    join mention on mention.chunk = chunk.id join entity on entity.id = mention.entity and entity.trash is not null"""
SET_ENTITY_TRASH = "update entity set trash = ? where id = ?"

# relations
_RELATION = """
    select id, uid, subject, object, relation_key, weight, last_seen, evidence, handed_in, version, trash, invalid_at,
           exists (select 1 from entity where entity.id = subject and entity.trash is null),
           exists (select 1 from entity where entity.id = object and entity.trash is null)
    from relation"""
RELATIONS_AT = f"{_RELATION} where id in (select value from json_each(?))"
RELATIONS_BY_UID = f"{_RELATION} where trash is null and uid in (select value from json_each(?))"
RELATIONS_TOUCHING = f"""{_RELATION} where trash is not :besides and id in
    (select id from relation where subject in (select value from json_each(:keys))
     union
     select id from relation where object in (select value from json_each(:keys)))"""
CURRENT_AT = f"""{_RELATION} where id in
    (select id from relation where subject = :key
     union
     select id from relation where object = :key)
    and trash is null and invalid_at is null and relation_key in (select value from json_each(:kinds))"""
CURRENT_BETWEEN = f"""{_RELATION} where trash is null and invalid_at is null and (subject, relation_key, object) in
    (select value ->> 0, value ->> 1, value ->> 2 from json_each(?))"""
RELATIONS_TRASHED_BY = f"{_RELATION} where trash in (select value from json_each(?))"
STATED_BY = f"""{_RELATION} where trash <> :besides and id in
    (select relation from relation_source where memory in (select value from json_each(:memories)))"""
SOURCES = """
    select relation, memory, exists (select 1 from memory where memory.id = relation_source.memory and trash is null)
    from relation_source where relation in (select value from json_each(?))"""
RELATIONS_NEEDED_BY = """
    select relation_source.relation, max(memory.trash) from relation_source
    join memory on memory.id = relation_source.memory
    where relation_source.relation in (select value from json_each(:keys))
      and memory.trash is not null and memory.trash not in (select value from json_each(:receipts))
    group by relation_source.relation"""
SET_RELATION = """
    update relation set subject = ?, object = ?, weight = ?, last_seen = ?, evidence = ?, handed_in = ?, version = ?,
                        trash = ?
    where id = ?"""
SET_RELATION_TRASH = "update relation set trash = ? where id = ?"
RESTORE_RELATIONS = "update relation set trash = null where id in (select value from json_each(?))"
