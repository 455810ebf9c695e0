"""The statements about the graph as a whole. Pure text; values are always bound."""

from __future__ import annotations

SURVEY_ENTITIES = """
    select live_entity.id, uid, name, type, confidence, last_seen, pinned, coalesce(mentioned.times, 0), 0
    from live_entity left join (select entity, count(*) as times from live_mention group by entity) as mentioned
      on mentioned.entity = live_entity.id
    order by live_entity.id"""
SURVEY_EDGES = """
    select uid, subject, object, relation, weight, last_seen, valid_at, invalid_at from live_relation order by id"""
KNOWN_NAMES = """
    select live_entity.name_key, name from json_each(?) as wanted
    join live_entity on live_entity.name_key = wanted.value order by last_seen, live_entity.id"""

# A fact whose end is in the trash, or gone, is not part of a graph that can be carried away.
DUMP_ENTITIES = """
    select uid, name, type, confidence, handed_in, pinned, created_at, last_seen,
           (select nullif(json_group_array(json_array(name, type_key) order by name_key, type_key), '[]')
            from alias where entity = live_entity.id)
    from live_entity order by name_key, type_key"""
DUMP_RELATIONS = """
    select live_relation.uid, subject.uid, object.uid, relation, weight, evidence, live_relation.handed_in,
           live_relation.created_at, live_relation.last_seen, valid_at, invalid_at
    from live_relation
    join live_entity as subject on subject.id = live_relation.subject
    join live_entity as object on object.id = live_relation.object
    order by subject.name_key, subject.type_key, relation_key, object.name_key, object.type_key, invalid_at, valid_at,
             live_relation.uid"""

LOAD_FIND_ENTITY = """
    select id, uid, confidence, handed_in, pinned, created_at, last_seen from live_entity
    where name_key = ? and type_key = ?"""
LOAD_ENTITY = """
    insert into entity (uid, name, name_key, type, type_key, confidence, handed_in, pinned, created_at, last_seen,
                        origin)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id"""
LOAD_ALIAS = """
    insert into alias (name_key, type_key, name, entity) select :key, :type_key, :name, :entity
    where not exists (select 1 from live_entity where name_key = :key and type_key = :type_key)
    on conflict do nothing"""
LOAD_CHANGE_ENTITY = """
    update entity set confidence = :confidence, handed_in = :handed_in, pinned = :pinned, created_at = :created_at,
        last_seen = :last_seen, version = version + 1
    where id = :key"""
LOAD_FIND_RELATION = """
    select id, weight, evidence, handed_in, created_at, last_seen, valid_at from live_relation
    where subject = ? and relation_key = ? and object = ? and invalid_at is ?"""
LOAD_RELATION = """
    insert into relation (uid, subject, object, relation, relation_key, weight, evidence, handed_in, created_at,
                          last_seen, valid_at, invalid_at, origin)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id"""
LOAD_CHANGE_RELATION = """
    update relation set weight = :weight, evidence = :evidence, handed_in = :handed_in, created_at = :created_at,
        last_seen = :last_seen, version = version + 1
    where id = :key"""
ENTITY_ID_TAKEN = "select exists (select 1 from entity where uid = ?)"
RELATION_ID_TAKEN = "select exists (select 1 from relation where uid = ?)"
