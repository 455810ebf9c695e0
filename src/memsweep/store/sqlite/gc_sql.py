"""The collector's statements. Pure text; values are always bound.

An apply works on temporary lists of keys, filled from the saved plan with every version checked again;
the tables then take the receipt's number from those lists, so counts are those of the rows that moved.
An undo picks what comes back in the same lists.
"""

from __future__ import annotations

# survey
# A file that was verified has been seen, though its memory is not written each time.
MEMORIES = """
    select memory.id, version, source = 'code_indexer', stale, pinned, created_at,
           case when stale or code_file.memory is null then last_seen_at
                else max(coalesce(last_seen_at, created_at),
                         coalesce(code_scope.verified_at, code_file.verified_at, 0)) end,
           expires_at, content_hash
    from memory left join code_file on code_file.memory = memory.id
    left join code_scope on code_scope.id = code_file.scope
    where memory.trash is null order by memory.id"""
CHUNK_COUNTS = "select memory, count(*) from chunk where trash is null group by memory"
LONE_CHUNKS = """
    select chunk.id, chunk.memory from chunk left join memory on memory.id = chunk.memory
    where chunk.trash is null and memory.id is null order by chunk.id"""
ENTITIES = """
    select id, version, type_key, pinned, handed_in, created_at, confidence, last_seen from live_entity order by id"""
RELATIONS = """
    select id, version, subject, object, weight, last_seen, invalid_at,
           handed_in = 0 and id in (select relation_source.relation from relation_source
                                    join memory on memory.id = relation_source.memory and memory.trash is null)
    from live_relation order by id"""
EDGES = "select subject, object from live_relation"
STANDING_EDGES = """
    select subject, object from relation where trash is null
      and (handed_in or id not in (select relation_source.relation from relation_source
                                   join memory on memory.id = relation_source.memory and memory.trash is null))"""
STATED_EDGES = """
    select memory.id, relation.subject, relation.object from relation_source
    join relation on relation.id = relation_source.relation and relation.trash is null and relation.handed_in = 0
    join memory on memory.id = relation_source.memory and memory.trash is null"""
MENTIONS = """
    select distinct chunk.memory, mention.entity from mention
    join chunk on chunk.id = mention.chunk and chunk.trash is null
    join memory on memory.id = chunk.memory and memory.trash is null
    where mention.trash is null"""
TEXTS = "select id, text from live_memory where source <> 'code_indexer'"
CODE_PATHS = """
    select memory.id, code_root.path, code_file.path from code_file
    join memory on memory.id = code_file.memory and memory.trash is null
    join code_root on code_root.id = code_file.root"""
MEMORY_KEYS = "select uid, id from live_memory where uid in (select value from json_each(?))"

FIND_ANYTHING = """
    select 'memory', memory.id, receipt.uid from memory
    left join receipt on receipt.id = memory.trash where memory.uid = :id
    union all
    select 'entity', entity.id, receipt.uid from entity
    left join receipt on receipt.id = entity.trash where entity.uid = :id"""

# plans
ADD_PLAN = """
    insert into plan (uid, strategy, created_at, expires_at, digest, summary) values (?, ?, ?, ?, ?, ?) returning id"""
ADD_ITEM = "insert into plan_item (plan, position, kind, key, version, reason, evidence) values (?, ?, ?, ?, ?, ?, ?)"
GET_PLAN = """
    select plan.id, plan.uid, plan.strategy, plan.created_at, expires_at, digest, summary, receipt.uid
    from plan left join receipt on receipt.id = plan.receipt where plan.uid = ?"""
PAGE_OF_ITEMS = """
    select kind, key, reason, evidence from plan_item where plan = ? and position >= ? order by position limit ?"""
SET_SUMMARY = "update plan set summary = ? where id = ?"
USE_PLAN = "update plan set receipt = ? where id = ?"
DROP_OLD_PLANS = """
    delete from plan_item where plan in (select id from plan where expires_at < ? and receipt is null)"""
DROP_OLD_PLAN_HEADS = "delete from plan where expires_at < ? and receipt is null"
DESCRIBE_MEMORY = """
    select memory.uid, substr(memory.text, 1, 80), memory.created_at, length(memory.text), code_root.path,
           code_file.path, (select count(*) from chunk where memory = memory.id and chunk.trash is memory.trash)
    from memory left join code_file on code_file.memory = memory.id
    left join code_root on code_root.id = code_file.root where memory.id = ?"""
DESCRIBE_CHUNK = "select uid, substr(text, 1, 80), length(text) from chunk where id = ?"
DESCRIBE_ENTITY = "select uid, name, type, created_at from entity where id = ?"
DESCRIBE_RELATION = """
    select relation.uid, relation, subject.uid, subject.name, object.uid, object.name, relation.created_at
    from relation left join entity as subject on subject.id = subject left join entity as object on object.id = object
    where relation.id = ?"""
CASCADE_CHUNKS = """
    select count(*) from chunk where trash is null and memory in
        (select key from plan_item where plan = ? and kind = 'memory')"""
CASCADE_RELATIONS = """
    with entities as materialized (select key from plan_item where plan = :plan and kind = 'entity'),
         memories as materialized (select key from plan_item where plan = :plan and kind = 'memory'),
         relations as materialized (select key from plan_item where plan = :plan and kind = 'relation')
    select (select count(*) from relations join relation on relation.id = relations.key
            where subject not in entities and object not in entities)
         + (select count(*) from relation where trash is null and subject in entities)
         + (select count(*) from relation where trash is null and object in entities and subject not in entities)
         + (select count(distinct relation.id) from relation_source
            join relation on relation.id = relation_source.relation
            where relation_source.memory in memories and relation.trash is null and relation.handed_in = 0
              and subject not in entities and object not in entities and relation.id not in relations
              and not exists (select 1 from relation_source as other join memory on memory.id = other.memory
                              where other.relation = relation.id and memory.trash is null
                                and memory.id not in memories))"""

# applying
MAKE_LISTS = """
    create temp table if not exists picked_memory (key integer primary key);
    create temp table if not exists picked_chunk (key integer primary key);
    create temp table if not exists picked_entity (key integer primary key);
    create temp table if not exists picked_relation (key integer primary key);
    delete from temp.picked_memory;
    delete from temp.picked_chunk;
    delete from temp.picked_entity;
    delete from temp.picked_relation"""
# A duplicate goes only while what it repeats is there.
DOOM_MEMORIES = """
    insert into temp.picked_memory select item.key from plan_item as item join memory on memory.id = item.key
    where item.plan = ? and item.kind = 'memory' and memory.version = item.version and memory.trash is null
      and memory.pinned = 0
      and (item.evidence ->> 'kept' is null
           or exists (select 1 from memory as kept where kept.id = item.evidence ->> 'kept' and kept.trash is null))"""
KEEP_MEMORIES = "delete from temp.picked_memory where key in (select value from json_each(?))"
COUNT_DOOMED = "select (select count(*) from temp.picked_memory), (select count(*) from memory where trash is null)"
COUNT_DOOMED_ENTITIES = "select (select count(*) from temp.picked_entity), (select count(*) from live_entity)"
COUNT_DOOMED_RELATIONS = "select (select count(*) from temp.picked_relation), (select count(*) from live_relation)"
DOOM_LONE_CHUNKS = """
    insert into temp.picked_chunk select item.key from plan_item as item join chunk on chunk.id = item.key
    where item.plan = ? and item.kind = 'chunk' and chunk.trash is null
      and not exists (select 1 from memory where memory.id = chunk.memory)"""
DOOM_CHUNKS = """
    insert or ignore into temp.picked_chunk select chunk.id from chunk
    where memory in (select key from temp.picked_memory) and trash is null order by chunk.id"""
CANDIDATE_ENTITIES = """
    select item.key from plan_item as item join entity on entity.id = item.key
    where item.plan = ? and item.kind = 'entity' and entity.version = item.version and entity.trash is null
      and entity.pinned = 0"""
STILL_MENTIONED = """
    select distinct mention.entity from json_each(?) as wanted
    join mention on mention.entity = wanted.value and mention.trash is null
    join chunk on chunk.id = mention.chunk and chunk.trash is null
    join memory on memory.id = chunk.memory and memory.trash is null
    where chunk.id not in (select key from temp.picked_chunk)"""
EDGES_OF = """
    select subject, object from relation where trash is null and subject in (select value from json_each(:keys))
      and id not in (select key from temp.picked_relation)
    union all
    select subject, object from relation where trash is null and object in (select value from json_each(:keys))
      and id not in (select key from temp.picked_relation)"""
# What a live memory states again has not faded.
DOOM_PLANNED_RELATIONS = """
    insert or ignore into temp.picked_relation select item.key from plan_item as item
    join relation on relation.id = item.key
    where item.plan = ? and item.kind = 'relation' and relation.version = item.version and relation.trash is null
      and (item.reason <> 'faded_relation' or relation.handed_in
           or not exists (select 1 from relation_source join memory on memory.id = relation_source.memory
                          where relation_source.relation = relation.id and memory.trash is null))"""
# What was planned and is not taken after all holds its ends.
SPARED_ENDS = """
    select relation.subject, relation.object from plan_item as item join relation on relation.id = item.key
    where item.plan = ? and item.kind = 'relation' and relation.trash is null
      and relation.id not in (select key from temp.picked_relation)"""
DOOM_ENTITY = "insert into temp.picked_entity (key) values (?)"
DOOM_RELATIONS = """
    insert or ignore into temp.picked_relation
    select id from relation where trash is null and subject in (select key from temp.picked_entity)
    union select id from relation where trash is null and object in (select key from temp.picked_entity)"""
DOOM_UNSTATED_RELATIONS = """
    insert or ignore into temp.picked_relation
    select relation.id from relation_source join relation on relation.id = relation_source.relation
    where relation_source.memory in (select key from temp.picked_memory) and relation.trash is null
      and relation.handed_in = 0
      and not exists (select 1 from relation_source as other join memory on memory.id = other.memory
                      where other.relation = relation.id and memory.trash is null
                        and memory.id not in (select key from temp.picked_memory))"""
SKIPPED_ITEMS = """
    select item.kind, item.key, item.version,
           coalesce(memory.uid, chunk.uid, entity.uid, relation.uid),
           coalesce(memory.version, entity.version, relation.version),
           coalesce(memory.pinned, entity.pinned, 0),
           case item.kind when 'memory' then memory.trash is null and memory.id is not null
                          when 'chunk' then chunk.trash is null and chunk.id is not null
                          when 'relation' then relation.trash is null and relation.id is not null
                          else entity.trash is null and entity.id is not null end
    from plan_item as item
    left join memory on item.kind = 'memory' and memory.id = item.key
    left join chunk on item.kind = 'chunk' and chunk.id = item.key
    left join entity on item.kind = 'entity' and entity.id = item.key
    left join relation on item.kind = 'relation' and relation.id = item.key
    where item.plan = ?
      and not (item.kind = 'memory' and item.key in (select key from temp.picked_memory))
      and not (item.kind = 'chunk' and item.key in (select key from temp.picked_chunk))
      and not (item.kind = 'entity' and item.key in (select key from temp.picked_entity))
      and not (item.kind = 'relation' and item.key in (select key from temp.picked_relation))
    order by item.position"""
# The words leave the full-text index before the rows leave the view, with their exact text, in ascending order.
UNINDEX_CHUNKS = """
    insert into chunk_fts (chunk_fts, rowid, text)
    select 'delete', chunk.id, spread_script(chunk.text || ' ' || chunk.words) from temp.picked_chunk
    join chunk on chunk.id = temp.picked_chunk.key order by chunk.id"""
TRASH_MENTIONS_OF_CHUNKS = """
    update mention set trash = ? where trash is null and chunk in (select key from temp.picked_chunk)"""
TRASH_MENTIONS_OF_ENTITIES = """
    update mention set trash = ? where trash is null and entity in (select key from temp.picked_entity)"""
TRASH_CHUNKS = "update chunk set trash = ? where id in (select key from temp.picked_chunk)"
TRASH_MEMORIES = "update memory set trash = ? where id in (select key from temp.picked_memory)"
TRASH_ENTITIES = "update entity set trash = ? where id in (select key from temp.picked_entity)"
TRASH_RELATIONS = "update relation set trash = ? where id in (select key from temp.picked_relation)"
ADD_RECEIPT = """
    insert into receipt (uid, plan, action, strategy, actor, created_at) values (?, ?, ?, ?, ?, ?) returning id"""
FILL_RECEIPT = "update receipt set counts = ?, skipped = ? where id = ?"
GET_RECEIPT = """
    select id, uid, plan, action, strategy, actor, created_at, counts, skipped, undone_at, purged_at
    from receipt where uid = ?"""
