"""The knowledge graph's statements. Pure text; values are always bound."""

from __future__ import annotations

from memsweep.store.file.name_words import INSIDE
from memsweep.store.sqlite.gc_sql import BY_ITSELF
from memsweep.store.sqlite.origin_sql import FIELDS
from memsweep.store.sqlite.sql import FACT

# A name that is not an entity's may be the old name of one.
# One that is spelled exactly so, beside another that differs in case alone, comes first; any such one, last.
FIND_TYPED = """
    select id from live_entity where name_key = ?3 and type_key = ?2
    union all
    select id from live_entity where name_key = ?1 and type_key = ?2
    union all
    select live_entity.id from alias join live_entity on live_entity.id = alias.entity
    where alias.name_key = ?1 and alias.type_key = ?2 limit 1"""
FIND_NAMED = """
    select id from (select 0 as rank, * from live_entity where name_key = ?2
                    union all
                    select 1, * from live_entity where name_key = ?1
                    union all
                    select 2, live_entity.* from alias join live_entity on live_entity.id = alias.entity
                    where alias.name_key = ?1
                    union all
                    select 3, * from live_entity
                    where name_key > char(31) || ?1 || char(31) and name_key < char(31) || ?1 || ' ')
    order by rank, handed_in desc, pinned desc, last_seen desc, id limit 1"""
FIND_BY_UID = "select id from live_entity where uid = ?"
ADD_ENTITY = """
    insert into entity (uid, name, name_key, type, type_key, confidence, handed_in, created_at, last_seen, origin)
    values (?, ?, ?, ?, ?, 1.0, 1, ?, ?, ?) returning id"""
SEE_ENTITY = """
    update entity set handed_in = 1, confidence = 1.0, last_seen = max(last_seen, ?1), version = version + 1,
        origin = case when origin is not ?2 then 0 else origin end
    where id = ?3"""
GET_RELATION = f"""
    select id, uid, {FACT} from live_relation
    where subject = ? and relation_key = ? and object = ? and invalid_at is null"""
ADD_RELATION = """
    insert into relation (uid, subject, object, relation, relation_key, weight, handed_in, created_at, last_seen,
                          valid_at, origin)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id"""
OTHERS = f"""
    select id, uid, {FACT} from live_relation
    where subject = ? and relation_key = ? and object <> ? and invalid_at is null order by id"""
CLOSE = "update relation set invalid_at = ?, version = version + 1 where id = ?"
ENTITY_NAME = "select uid, name from entity where id = ?"

ENTITIES = """
    select live_entity.id, uid, name, type, confidence, last_seen, pinned,
           (select count(*) from live_mention where entity = live_entity.id),
           (select count(*) from live_relation where subject = live_entity.id or object = live_entity.id)
    from live_entity
    where (:search is null or name_key like :search escape '\\'
           or exists (select 1 from alias where entity = live_entity.id and alias.name_key like :search escape '\\'))
      and (:type is null or type_key = :type)"""
# The index of names has all that decides; only what is shown is looked up.
_NAMED = """
    from entity indexed by entity_by_name
    where trash is null and (:search is null or name_key like :search escape '\\'
        or id in (select entity from alias where alias.name_key like :search escape '\\'))
      and (:type is null or type_key = :type)"""
NAMED = f"""
    with listed as materialized (
        select id {_NAMED} and (name_key, type_key) > (:name, :kind) order by name_key, type_key limit :limit)
    select name_key, type_key, entity.id, uid, name, type, confidence, last_seen, pinned,
           (select count(*) from live_mention where entity = entity.id),
           (select count(*) from live_relation where subject = entity.id or object = entity.id)
    from listed join entity on entity.id = listed.id order by name_key, type_key"""
COUNT_NAMED = f"select count(*) {_NAMED}"
COUNT_MENTIONS = "select count(*) from live_mention where entity = ?"
FACT_COUNTS = """
    select min(relation), subject = :key, sum(invalid_at is null), sum(invalid_at is not null) from live_relation
    where id in (select id from relation where subject = :key union select id from relation where object = :key)
    group by relation_key, subject = :key order by count(*) desc, relation_key, subject = :key"""
# What a fact counts now is kept beside its base, for who reads the file; nothing is computed from it.
ENTITY_BASES = "select id, uid, name, type, confidence, last_seen from live_entity order by id"
RELATION_BASES = """
    select live_relation.id, live_relation.uid, subject.name || ' ' || relation || ' ' || object.name, relation, weight,
           live_relation.last_seen
    from live_relation join entity as subject on subject.id = subject join entity as object on object.id = object
    where weight is not null order by live_relation.id"""
STORE_CONFIDENCE = "update entity set current = ? where id = ? and current is not ?1"
STORE_WEIGHT = "update relation set current = ? where id = ? and current is not ?1"
ENTITY_BY_KEYS = """
    select live_entity.id, uid, name, live_entity.type, confidence, last_seen, pinned, 0, 0
    from json_each(?) as wanted join live_entity on live_entity.id = wanted.value"""
FIND_MEMORY = "select id from live_memory where uid = ?"
_EDGE = """
    uid, subject, object, relation, weight, last_seen, valid_at, invalid_at,
    (select json_group_array(live_memory.uid) from relation_source
     join live_memory on live_memory.id = relation_source.memory where relation_source.relation = live_relation.id)"""
EDGES_AT = f"""
    select {_EDGE} from live_relation
    where subject in (select value from json_each(:keys))
      and (:kinds is null or relation_key in (select value from json_each(:kinds)))
    union
    select {_EDGE} from live_relation
    where object in (select value from json_each(:keys))
      and (:kinds is null or relation_key in (select value from json_each(:kinds)))"""

_NOT_OF_CODE = "relation.relation_key not in ('calls', 'defines', 'imports', 'inherits')"  # as the index has it
ANY_EXPLICIT = f"""
    select exists (select 1 from entity where handed_in = 1 and trash is null)
        or exists (select 1 from relation where trash is null and {_NOT_OF_CODE})"""
_BEGINS = "{0} >= wanted.value and {0} < wanted.value || char(1114111)"
_BY_A_WORD_INSIDE = " union ".join(
    f"select entity.id from json_each(:names_begin) as wanted cross join entity on {_BEGINS.format(text)}"
    f" where entity.handed_in = 1 and entity.trash is null and {text} <> ''"
    for text in INSIDE.values()
)
_LIVE_SOURCES = """
    select 1 from relation_source join memory on memory.id = relation_source.memory and memory.trash is null
    where relation_source.relation = relation.id"""
# What live memories say, all of which have expired, and nobody by itself.
_ONLY_EXPIRED = f"""
    exists ({_LIVE_SOURCES}) and not {BY_ITSELF}
    and not exists ({_LIVE_SOURCES} and coalesce(memory.expires_at > :expired_by, true))"""
EXPIRED_FACTS = f"""
    select distinct relation.uid from memory indexed by memory_by_expiry
    cross join relation_source on relation_source.memory = memory.id
    cross join relation on relation.id = relation_source.relation and relation.trash is null
    where memory.trash is null and memory.expires_at <= :expired_by and {_ONLY_EXPIRED}"""
# What only files of code say is found as code. Every join is a cross join: that is the order in which they are done.
STATEMENTS_ABOUT = f"""
    with named (entity) as (
        select live_entity.id from json_each(:names) as wanted
        cross join live_entity on live_entity.name_key = wanted.value
        union
        select entity.id from json_each(:names_begin) as wanted cross join entity on {_BEGINS.format("entity.name_key")}
        where entity.handed_in = 1 and entity.trash is null
        union {_BY_A_WORD_INSIDE}
        union
        select alias.entity from json_each(:names) as wanted cross join alias on alias.name_key = wanted.value),
    touching (id, via) as (
        select live_relation.id, named.entity from named
        cross join live_relation on live_relation.subject = named.entity
        union
        select live_relation.id, named.entity from named
        cross join live_relation on live_relation.object = named.entity
        union
        select relation.id, 0 from json_each(:relations_begin) as wanted
        cross join relation on {_BEGINS.format("relation.relation")}
        where relation.trash is null and {_NOT_OF_CODE})
    select relation.uid, subject.name, relation.relation, object.name, relation.created_at, relation.last_seen,
           relation.valid_at, relation.invalid_at, {FIELDS}
    from (select id, count(*) as parts from touching group by id) as found join relation on relation.id = found.id
    join live_entity as subject on subject.id = relation.subject
    join live_entity as object on object.id = relation.object
    left join origin on origin.id = relation.origin
    where (:ended or relation.invalid_at is null) and (relation.handed_in or exists (
        select 1 from relation_source join memory on memory.id = relation_source.memory
        where relation_source.relation = relation.id and memory.trash is null and memory.source <> 'code_indexer'))
      and (:expired_by is null or not ({_ONLY_EXPIRED}))
    order by found.parts desc, relation.created_at desc, subject.name, relation.relation, object.name,
        relation.uid limit :limit"""
