"""The collector's statements. Pure text; values are always bound.

An apply works on temporary lists of keys, filled from the saved plan with every version checked again;
the tables then take the receipt's number from those lists, so counts are those of the rows that moved.
"""

from __future__ import annotations

# survey
MEMORIES = """
    select id, version, source = 'code_indexer', stale, pinned, created_at, last_seen_at, expires_at, content_hash
    from live_memory order by id"""
CHUNK_COUNTS = "select memory, count(*) from chunk where trash is null group by memory"
LONE_CHUNKS = """
    select chunk.id, chunk.memory from chunk left join memory on memory.id = chunk.memory
    where chunk.trash is null and memory.id is null order by chunk.id"""
ENTITIES = "select id, version, type_key, pinned, handed_in, created_at from live_entity order by id"
EDGES = "select subject, object from live_relation"
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
PLAN_ITEMS = "select kind, key, version, reason, evidence from plan_item where plan = ? order by position"
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
DESCRIBE_RELATION = "select uid, relation from relation where id = ?"
CASCADE_CHUNKS = """
    select count(*) from chunk where trash is null and memory in
        (select key from plan_item where plan = ? and kind = 'memory')"""
CASCADE_RELATIONS = """
    with entities as materialized (select key from plan_item where plan = :plan and kind = 'entity'),
         memories as materialized (select key from plan_item where plan = :plan and kind = 'memory')
    select count(*) from live_relation as relation
    where subject in entities or object in entities
       or (handed_in = 0
           and exists (select 1 from relation_source where relation = relation.id and memory in memories)
           and not exists (select 1 from relation_source join live_memory on live_memory.id = relation_source.memory
                           where relation = relation.id and relation_source.memory not in memories))"""

# applying
MAKE_LISTS = """
    create temp table if not exists doomed_memory (key integer primary key);
    create temp table if not exists doomed_chunk (key integer primary key);
    create temp table if not exists doomed_entity (key integer primary key);
    create temp table if not exists doomed_relation (key integer primary key);
    delete from temp.doomed_memory;
    delete from temp.doomed_chunk;
    delete from temp.doomed_entity;
    delete from temp.doomed_relation"""
DOOM_MEMORIES = """
    insert into temp.doomed_memory select item.key from plan_item as item join memory on memory.id = item.key
    where item.plan = ? and item.kind = 'memory' and memory.version = item.version and memory.trash is null
      and memory.pinned = 0"""
DOOM_LONE_CHUNKS = """
    insert into temp.doomed_chunk select item.key from plan_item as item join chunk on chunk.id = item.key
    where item.plan = ? and item.kind = 'chunk' and chunk.trash is null
      and not exists (select 1 from memory where memory.id = chunk.memory)"""
DOOM_CHUNKS = """
    insert or ignore into temp.doomed_chunk select chunk.id from chunk
    where memory in (select key from temp.doomed_memory) and trash is null order by chunk.id"""
CANDIDATE_ENTITIES = """
    select item.key from plan_item as item join entity on entity.id = item.key
    where item.plan = ? and item.kind = 'entity' and entity.version = item.version and entity.trash is null
      and entity.pinned = 0"""
STILL_MENTIONED = """
    select distinct mention.entity from json_each(?) as wanted
    join mention on mention.entity = wanted.value and mention.trash is null
    join chunk on chunk.id = mention.chunk and chunk.trash is null
    join memory on memory.id = chunk.memory and memory.trash is null
    where chunk.id not in (select key from temp.doomed_chunk)"""
EDGES_OF = """
    select subject, object from live_relation where subject in (select value from json_each(:keys))
    union all
    select subject, object from live_relation where object in (select value from json_each(:keys))"""
DOOM_ENTITY = "insert into temp.doomed_entity (key) values (?)"
DOOM_RELATIONS = """
    insert or ignore into temp.doomed_relation
    select id from relation where trash is null and subject in (select key from temp.doomed_entity)
    union select id from relation where trash is null and object in (select key from temp.doomed_entity)"""
DOOM_UNSTATED_RELATIONS = """
    insert or ignore into temp.doomed_relation
    select relation.id from relation_source join relation on relation.id = relation_source.relation
    where relation_source.memory in (select key from temp.doomed_memory) and relation.trash is null
      and relation.handed_in = 0
      and not exists (select 1 from relation_source as other join memory on memory.id = other.memory
                      where other.relation = relation.id and memory.trash is null
                        and memory.id not in (select key from temp.doomed_memory))"""
SKIPPED_ITEMS = """
    select item.kind, item.key, item.version,
           coalesce(memory.uid, chunk.uid, entity.uid), coalesce(memory.version, entity.version),
           coalesce(memory.pinned, entity.pinned, 0),
           case item.kind when 'memory' then memory.trash is null and memory.id is not null
                          when 'chunk' then chunk.trash is null and chunk.id is not null
                          else entity.trash is null and entity.id is not null end
    from plan_item as item
    left join memory on item.kind = 'memory' and memory.id = item.key
    left join chunk on item.kind = 'chunk' and chunk.id = item.key
    left join entity on item.kind = 'entity' and entity.id = item.key
    where item.plan = ?
      and not (item.kind = 'memory' and item.key in (select key from temp.doomed_memory))
      and not (item.kind = 'chunk' and item.key in (select key from temp.doomed_chunk))
      and not (item.kind = 'entity' and item.key in (select key from temp.doomed_entity))
    order by item.position"""
# The words leave the full-text index before the rows leave the view, with their exact text, in ascending order.
UNINDEX_CHUNKS = """
    insert into chunk_fts (chunk_fts, rowid, text)
    select 'delete', chunk.id, spread_script(chunk.text || ' ' || chunk.words) from temp.doomed_chunk
    join chunk on chunk.id = temp.doomed_chunk.key order by chunk.id"""
TRASH_MENTIONS_OF_CHUNKS = """
    update mention set trash = ? where trash is null and chunk in (select key from temp.doomed_chunk)"""
TRASH_MENTIONS_OF_ENTITIES = """
    update mention set trash = ? where trash is null and entity in (select key from temp.doomed_entity)"""
TRASH_CHUNKS = "update chunk set trash = ? where id in (select key from temp.doomed_chunk)"
TRASH_MEMORIES = "update memory set trash = ? where id in (select key from temp.doomed_memory)"
TRASH_ENTITIES = "update entity set trash = ? where id in (select key from temp.doomed_entity)"
TRASH_RELATIONS = "update relation set trash = ? where id in (select key from temp.doomed_relation)"
ADD_RECEIPT = """
    insert into receipt (uid, plan, action, strategy, actor, created_at) values (?, ?, ?, ?, ?, ?) returning id"""
FILL_RECEIPT = "update receipt set counts = ?, skipped = ? where id = ?"
GET_RECEIPT = """
    select id, uid, plan, action, strategy, actor, created_at, counts, skipped, undone_at, purged_at
    from receipt where uid = ?"""

# undoing
CLASHING_FILES = """
    select mine.id, mine.uid, theirs.uid from memory as mine
    join code_file on code_file.memory = mine.id
    join code_file as other on other.root = code_file.root and other.path = code_file.path and other.memory <> mine.id
    join memory as theirs on theirs.id = other.memory and theirs.trash is null
    where mine.trash = ?"""
CLASHING_ENTITIES = """
    select mine.id, mine.uid, theirs.id, theirs.uid from entity as mine
    join entity as theirs on theirs.name_key = mine.name_key and theirs.type_key = mine.type_key
      and theirs.trash is null
    where mine.trash = ?"""
RESTORE_MEMORIES = "update memory set trash = null where trash = ? and id not in (select value from json_each(?))"
RESTORABLE_CHUNKS = """
    insert into temp.doomed_chunk
    select chunk.id from chunk left join memory on memory.id = chunk.memory
    where chunk.trash = ? and (memory.id is null or memory.trash is null) order by chunk.id"""
REINDEX_CHUNKS = """
    insert into chunk_fts (rowid, text)
    select chunk.id, spread_script(chunk.text || ' ' || chunk.words) from temp.doomed_chunk
    join chunk on chunk.id = temp.doomed_chunk.key order by chunk.id"""
RESTORE_CHUNKS = "update chunk set trash = null where id in (select key from temp.doomed_chunk)"
RESTORE_ENTITIES = "update entity set trash = null where trash = ? and id not in (select value from json_each(?))"
RESTORE_MENTIONS = """
    update mention set trash = null where trash = ?
      and exists (select 1 from chunk where id = mention.chunk and chunk.trash is null)
      and exists (select 1 from entity where id = mention.entity and entity.trash is null)"""
RELINK_MENTIONS = """
    insert into mention (chunk, entity)
    select mention.chunk, :twin from mention join chunk on chunk.id = mention.chunk and chunk.trash is null
    where mention.entity = :entity and mention.trash = :receipt
    on conflict (chunk, entity) do nothing"""
CLASHING_RELATIONS = """
    select mine.id, mine.uid from relation as mine where mine.trash = ? and mine.invalid_at is null
      and exists (select 1 from relation as theirs where theirs.subject = mine.subject
                  and theirs.relation_key = mine.relation_key and theirs.object = mine.object
                  and theirs.trash is null and theirs.invalid_at is null)"""
RESTORE_RELATIONS = """
    update relation set trash = null where trash = ? and id not in (select value from json_each(?))
      and exists (select 1 from entity where id = relation.subject and entity.trash is null)
      and exists (select 1 from entity where id = relation.object and entity.trash is null)"""
# An end that another receipt holds takes the relation along: undoing that one brings both back.
HAND_ON_RELATIONS = """
    update relation set trash = (select max(entity.trash) from entity
                                 where entity.id in (relation.subject, relation.object) and entity.trash <> :receipt)
    where trash = :receipt
      and exists (select 1 from entity where entity.id in (relation.subject, relation.object)
                  and entity.trash <> :receipt)"""
SET_UNDONE = "update receipt set undone_at = ? where id = ?"

# looking into the trash
TRASH_LIST = """
    select 'memory', memory.uid, substr(memory.text, 1, 80), receipt.uid, receipt.strategy, receipt.created_at,
           receipt.plan, memory.id
    from memory join receipt on receipt.id = memory.trash
    union all
    select 'entity', entity.uid, entity.name, receipt.uid, receipt.strategy, receipt.created_at, receipt.plan,
           entity.id
    from entity join receipt on receipt.id = entity.trash
    order by 6 desc, 1 desc, 8 limit ? offset ?"""
TRASH_COUNT = """
    select (select count(*) from memory where trash is not null)
         + (select count(*) from entity where trash is not null)"""
REASON_OF = """
    select reason, evidence from plan_item join plan on plan.id = plan_item.plan
    where plan.uid = ? and kind = ? and key = ?"""
TRASHED_MEMORY = """
    select memory.id, memory.trash, receipt.uid from memory join receipt on receipt.id = memory.trash
    where memory.uid = ?"""

# A memory with its chunks, the entities that only wait because of it, and the relations between them.
SPLIT_OFF = (
    "update memory set trash = :new where id = :memory",
    "update chunk set trash = :new where memory = :memory and trash = :old",
    "update entity set trash = :new where trash = :old and id in (select entity from mention join chunk"
    " on chunk.id = mention.chunk where chunk.memory = :memory and mention.trash = :old)",
    "update mention set trash = :new where trash = :old and chunk in (select id from chunk where memory = :memory)",
    "update relation set trash = :new where trash = :old and (id in (select relation from relation_source"
    " where memory = :memory) or (subject in (select id from entity where trash = :new)"
    " and object in (select id from entity where trash = :new or trash is null))"
    " or (object in (select id from entity where trash = :new)"
    " and subject in (select id from entity where trash = :new or trash is null)))",
)

# purging
OLD_RECEIPTS = """
    select id, uid, plan from receipt where purged_at is null and created_at <= ? and (? is null or id = ?)"""
PURGE_STEPS = (
    "delete from vector where chunk in (select id from chunk where trash = :receipt)",
    "delete from mention where chunk in (select id from chunk where trash = :receipt)",
    "delete from mention where entity in (select id from entity where trash = :receipt)",
    "delete from relation_source where memory in (select id from memory where trash = :receipt)",
    "delete from relation_source where relation in (select id from relation where trash = :receipt)",
    "delete from memory_tag where memory in (select id from memory where trash = :receipt)",
    "delete from code_file where memory in (select id from memory where trash = :receipt)",
)
PURGE_COUNTED = {
    "chunks": "delete from chunk where trash = ?",
    "memories": "delete from memory where trash = ?",
    "relations": "delete from relation where trash = ? or subject in (select id from entity where trash = ?)"
    " or object in (select id from entity where trash = ?)",
    "entities": "delete from entity where trash = ?",
}
PURGE_LEFTOVERS = (
    "delete from thread where not exists (select 1 from memory where memory.thread = thread.id)",
    "delete from name_seen where not exists"
    " (select 1 from json_each(name_seen.chunks) as seen join chunk on chunk.id = seen.value)",
    "insert into chunk_fts (chunk_fts) values ('optimize')",
)
DROP_PLAN_ITEMS = "delete from plan_item where plan = (select id from plan where uid = ?)"
DROP_PLAN_SUMMARY = "update plan set summary = '{}' where uid = ?"
RECEIPT_KEY = "select id from receipt where uid = ?"
SET_PURGED = "update receipt set purged_at = ? where id = ?"

# audit, pins, tombstones
ADD_AUDIT = "insert into audit (at, actor, action, subject, counts, reason) values (?, ?, ?, ?, ?, ?)"
AUDIT = """
    select at, actor, action, subject, counts, reason from audit where :subject is null or subject = :subject
    order by id desc limit :limit"""
PIN_MEMORY = "update memory set pinned = ?, version = version + 1 where uid = ? and trash is null"
PIN_ENTITY = "update entity set pinned = ?, version = version + 1 where uid = ? and trash is null"
BURY = """
    insert into tombstone (hash, at, memory, reason)
    select content_hash, :at, memory.uid, :reason from memory join receipt on receipt.id = memory.trash
    where receipt.uid = :receipt
    on conflict (hash) do nothing"""
BURIED = "select hash from tombstone where hash in (select unhex(value) from json_each(?))"
TOMBSTONES = "select memory, at, reason from tombstone order by at desc"
DROP_TOMBSTONE = "delete from tombstone where memory = ? returning memory"
