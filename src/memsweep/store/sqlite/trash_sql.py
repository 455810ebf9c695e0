"""What undoes, lists and frees, and the audit log: statements. Pure text; values are always bound."""

from __future__ import annotations

# undoing
CLASHING_FILES = """
    select mine.id, mine.uid, theirs.uid from memory as mine
    join code_file on code_file.memory = mine.id
    join code_file as other on other.root = code_file.root and other.path = code_file.path and other.memory <> mine.id
    join memory as theirs on theirs.id = other.memory and theirs.trash is null
    where mine.trash = ?"""
CLASHING_TEXTS = """
    select mine.id, mine.uid, theirs.uid from memory as mine
    join memory as theirs on theirs.content_hash = mine.content_hash and theirs.trash is null
      and theirs.source <> 'code_indexer' and theirs.thread is mine.thread and theirs.text = mine.text
    where mine.trash = ? and mine.source <> 'code_indexer'"""
PICK_MEMORIES = """
    insert into temp.picked_memory
    select id from memory where trash = ? and id not in (select value from json_each(?))"""
RESTORE_MEMORIES = "update memory set trash = null where id in (select key from temp.picked_memory)"
PICK_CHUNKS = """
    insert into temp.picked_chunk
    select chunk.id from chunk left join memory on memory.id = chunk.memory
    where chunk.trash = ? and (memory.id is null or memory.trash is null) order by chunk.id"""
REINDEX_CHUNKS = """
    insert into chunk_fts (rowid, text)
    select chunk.id, spread_script(chunk.text || ' ' || chunk.words) from temp.picked_chunk
    join chunk on chunk.id = temp.picked_chunk.key order by chunk.id"""
RESTORE_CHUNKS = "update chunk set trash = null where id in (select key from temp.picked_chunk)"
# What a memory that comes back mentions or states has a root again, whichever receipt took it. Only a relation
# that was itself the garbage of another plan stays there, and what a merge that stands put away is that merge's.
_FREE_TO_RETURN = """
    not exists (select 1 from merge_move where merge_move.receipt = relation.trash) and
    relation.id not in (select item.key from receipt join plan on plan.uid = receipt.plan
                        join plan_item as item on item.plan = plan.id and item.kind = 'relation'
                        where receipt.id <> :receipt
                          and receipt.id in (select trash from relation where trash is not null))"""
PICK_STATED_RELATIONS = f"""
    insert or ignore into temp.picked_relation
    select relation.id from temp.picked_memory
    join relation_source on relation_source.memory = temp.picked_memory.key
    join relation on relation.id = relation_source.relation and relation.trash is not null
    where {_FREE_TO_RETURN}"""
PICK_ENTITIES = """
    insert or ignore into temp.picked_entity
    select id from entity where trash = :receipt
    union all
    select entity.id from temp.picked_memory join chunk on chunk.memory = temp.picked_memory.key
    join mention on mention.chunk = chunk.id join entity on entity.id = mention.entity and entity.trash is not null
    union all
    select entity.id from temp.picked_relation join relation on relation.id = temp.picked_relation.key
    join entity on entity.id in (relation.subject, relation.object) and entity.trash is not null"""
LIVE_TWINS = """
    select mine.id, mine.uid, theirs.id, theirs.uid from temp.picked_entity
    join entity as mine on mine.id = temp.picked_entity.key
    join entity as theirs on theirs.name_key = mine.name_key and theirs.type_key = mine.type_key
      and theirs.trash is null"""
PICKED_TWINS = """
    select mine.id, mine.uid, theirs.id, theirs.uid from
        (select name_key, type_key, max(id) as id from temp.picked_entity join entity on id = temp.picked_entity.key
         group by name_key, type_key having count(*) > 1) as newest
    join entity as theirs on theirs.id = newest.id
    join temp.picked_entity join entity as mine on mine.id = temp.picked_entity.key and mine.id <> newest.id
      and mine.name_key = newest.name_key and mine.type_key = newest.type_key"""
# The twin takes over what the other had, in whichever trash it waits.
TAKE_OVER = (
    "update or ignore mention set entity = :twin, trash = (select trash from chunk where chunk.id = mention.chunk)"
    " where entity = :entity and trash is not null",
    "delete from mention where entity = :entity and trash is not null",
    "update relation set subject = :twin where subject = :entity and trash is not null",
    "update relation set object = :twin where object = :entity and trash is not null",
    "update entity set handed_in = 1, version = version + 1 where id = :twin and handed_in = 0"
    " and (select handed_in from entity where id = :entity)",
    "update alias set entity = :twin where entity = :entity",
    # Entities are known by their versions, and this is another one: a merge cannot make it as it was.
    "update merge_move set a = :twin, c = null where a = :entity and kind = 'target'",
    "update merge_move set a = :twin where a = :entity and kind = 'name'",
    "update merge_move set c = :twin where c = :entity and kind = 'mention'",
    "delete from temp.picked_entity where key = :entity",
)
RESTORE_ENTITIES = "update entity set trash = null where id in (select key from temp.picked_entity)"
_BETWEEN_LIVE_ENDS = """
      and exists (select 1 from chunk where id = mention.chunk and chunk.trash is null)
      and exists (select 1 from entity where id = mention.entity and entity.trash is null)"""
# An end that another receipt holds keeps the mention there.
_HAND_ON_MENTIONS = """
    update mention set trash = coalesce(chunk.trash, entity.trash) from chunk, entity
    where chunk.id = mention.chunk and entity.id = mention.entity and mention.trash = :receipt
      and coalesce(chunk.trash, entity.trash) <> :receipt"""
RESTORE_MENTIONS = (
    "update mention set trash = null where trash = :receipt" + _BETWEEN_LIVE_ENDS,
    "update mention set trash = null where trash is not null and chunk in (select key from temp.picked_chunk)"
    + _BETWEEN_LIVE_ENDS,
    "update mention set trash = (select trash from chunk where id = mention.chunk)"
    " where trash is not null and entity in (select key from temp.picked_entity)",
    _HAND_ON_MENTIONS,
)
PICK_RELATIONS = f"""
    insert or ignore into temp.picked_relation
    select id from relation where trash = :receipt
    union all
    select relation.id from temp.picked_entity
    join relation on relation.subject = temp.picked_entity.key and relation.trash is not null
    where {_FREE_TO_RETURN}
    union all
    select relation.id from temp.picked_entity
    join relation on relation.object = temp.picked_entity.key and relation.trash is not null
    where {_FREE_TO_RETURN}"""
# A relation comes back between live ends, if it was handed in or something live states it.
UNPICK_RELATIONS = """
    delete from temp.picked_relation where key not in (
        select relation.id from temp.picked_relation join relation on relation.id = temp.picked_relation.key
        join entity as subject on subject.id = relation.subject and subject.trash is null
        join entity as object on object.id = relation.object and object.trash is null
        where relation.handed_in
           or not exists (select 1 from relation_source where relation_source.relation = relation.id)
           or exists (select 1 from relation_source join memory on memory.id = relation_source.memory
                      where relation_source.relation = relation.id and memory.trash is null))"""
# Relations that would say the same as another that comes back or lives, with those, and what leads to where it began.
# What a receipt that was undone still holds has been waiting for this one.
CONTENDERS = """
    with picked as materialized (
        select relation.* from temp.picked_relation join relation on relation.id = temp.picked_relation.key),
    valid as materialized (select * from picked where invalid_at is null),
    contested as materialized (
        select subject, relation_key, object from valid group by subject, relation_key, object having count(*) > 1
        union
        select mine.subject, mine.relation_key, mine.object from valid as mine
        join relation as theirs on theirs.subject = mine.subject and theirs.relation_key = mine.relation_key
          and theirs.object = mine.object and theirs.trash is null and theirs.invalid_at is null)
    select id, uid, subject, relation_key, object, invalid_at is null,
           case when exists (select 1 from receipt where receipt.id = trash and undone_at is not null)
                then :receipt else trash end
    from picked
    where subject = object or (invalid_at is null and (subject, relation_key, object) in contested)
    union
    select relation.id, uid, relation.subject, relation.relation_key, relation.object, true, null from contested
    join relation on relation.subject = contested.subject and relation.relation_key = contested.relation_key
      and relation.object = contested.object and relation.trash is null and relation.invalid_at is null"""
RECEIPT_ID = "select uid from receipt where id = ?"
PUT_AWAY = "update relation set trash = ? where id = ?"
UNPICK_RELATION = "delete from temp.picked_relation where key = ?"
RESTORE_RELATIONS = "update relation set trash = null where id in (select key from temp.picked_relation)"
# An end that another receipt holds takes the relation along: undoing that one brings both back.
ENDS_IN_TRASH = """
    select relation.uid, receipt.uid from relation
    join entity on entity.id in (relation.subject, relation.object) and entity.trash <> relation.trash
    join receipt on receipt.id = entity.trash where relation.trash = ? group by relation.id"""
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
    union all
    select 'chunk', chunk.uid, substr(chunk.text, 1, 80), receipt.uid, receipt.strategy, receipt.created_at,
           receipt.plan, chunk.id
    from chunk join receipt on receipt.id = chunk.trash where chunk.memory not in (select id from memory)
    union all
    select 'segment', segment.uid, substr(segment.text, 1, 80), receipt.uid, receipt.strategy, receipt.created_at,
           receipt.plan, segment.id
    from segment join receipt on receipt.id = segment.trash
    union all
    select 'relation', relation.uid, subject.name || ' ' || relation.relation || ' ' || object.name, receipt.uid,
           receipt.strategy, receipt.created_at, receipt.plan, relation.id
    from relation join receipt on receipt.id = relation.trash
    join entity as subject on subject.id = relation.subject and subject.trash is not relation.trash
    join entity as object on object.id = relation.object and object.trash is not relation.trash
    order by 6 desc, 1 desc, 8 limit ? offset ?"""
TRASH_COUNT = """
    select (select count(*) from memory where trash is not null)
         + (select count(*) from entity where trash is not null)
         + (select count(*) from chunk where trash is not null and memory not in (select id from memory))
         + (select count(*) from segment where trash is not null)
         + (select count(*) from relation join entity as subject on subject.id = subject
            join entity as object on object.id = object
            where relation.trash is not null and subject.trash is not relation.trash
              and object.trash is not relation.trash)"""
REASON_OF = """
    select reason, evidence from plan_item join plan on plan.id = plan_item.plan
    where plan.uid = ? and kind = ? and key = ?"""
TRASHED_MEMORY = """
    select memory.id, memory.trash, receipt.uid from memory join receipt on receipt.id = memory.trash
    where memory.uid = ?"""

# A memory with its chunks; what it mentions and states comes with it when it is undone.
SPLIT_OFF = (
    "update memory set trash = :new where id = :memory",
    "update chunk set trash = :new where memory = :memory and trash = :old",
)

# purging
OLD_RECEIPTS = """
    select id, uid, plan from receipt
    where purged_at is null and created_at <= :before and (:only is null or uid = :only)"""
# What a memory in another receipt's trash states or mentions is that receipt's now, or its undo would miss it. What a
# merge put away holds no entity, and nobody gets it: it comes back with the merge, or goes with it.
_PUT_AWAY = "exists (select 1 from merge_move where merge_move.receipt = relation.trash)"
HAND_ON = (
    f"""
    update relation set trash = needed.trash from
        (select relation.id, max(memory.trash) as trash from relation
         join relation_source on relation_source.relation = relation.id
         join memory on memory.id = relation_source.memory
         join receipt on receipt.id = memory.trash and receipt.purged_at is null
         where relation.trash = :receipt and not {_PUT_AWAY} group by relation.id) as needed
    where relation.id = needed.id""",
    f"""
    update entity set trash = needed.trash from
        (select id, max(trash) as trash from
             (select entity.id, chunk.trash from entity join mention on mention.entity = entity.id
              join chunk on chunk.id = mention.chunk where entity.trash = :receipt
              union all
              select entity.id, relation.trash from entity join relation on relation.subject = entity.id
              where entity.trash = :receipt and not {_PUT_AWAY}
              union all
              select entity.id, relation.trash from entity join relation on relation.object = entity.id
              where entity.trash = :receipt and not {_PUT_AWAY}) as holder
         where exists (select 1 from receipt where receipt.id = holder.trash and receipt.purged_at is null)
         group by id) as needed
    where entity.id = needed.id""",
    _HAND_ON_MENTIONS,
)
DYING_ENTITIES = "select id from entity where trash = ?"
PUT_AWAY_RELATIONS = f"""
    select id, subject, object, trash from relation where trash = :receipt and {_PUT_AWAY}
    union
    select relation.id, subject, object, relation.trash from entity
    join relation on entity.id in (relation.subject, relation.object) and {_PUT_AWAY} where entity.trash = :receipt"""
LOOPS = """
    select distinct relation.id, subject, object, relation.trash from merge_move
    join relation on relation.id = merge_move.a and relation.trash is not null and subject = object
    where merge_move.receipt = :receipt and kind in ('subject', 'object')"""
KEEP_PUT_AWAY = "update relation set subject = ?, object = ?, trash = ? where id = ?"
DROP_SOURCES = "delete from relation_source where relation = ?"
_TARGET = "(select a from merge_move where receipt = :receipt and kind = 'target' limit 1)"
_MERGED = "(select id from entity where trash = :receipt)"
# A merge that is purged is final: what was merged into what is gone has been merged into what was kept. The other
# names of an entity that goes are again those of what a merge that stands took them from.
PURGE_STEPS = (
    f"update merge_move set a = {_TARGET}, c = null where kind = 'target' and receipt <> :receipt and a in {_MERGED}"
    f" and {_TARGET} is not null",
    f"update merge_move set a = {_TARGET} where kind = 'name' and a in {_MERGED} and {_TARGET} is not null",
    f"update merge_move set c = {_TARGET} where kind = 'mention' and receipt <> :receipt and c in {_MERGED}"
    f" and {_TARGET} is not null",
    f"""
    update alias set entity = was.entity from
        (select a as entity, said ->> 0 as name_key, said ->> 1 as type_key, max(merge_move.receipt) from merge_move
         join receipt on receipt.id = merge_move.receipt and receipt.purged_at is null
         where kind = 'alias' group by said) as was
    where alias.entity in {_MERGED} and was.name_key = alias.name_key and was.type_key = alias.type_key""",
    "delete from merge_move where receipt = :receipt",
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
    "delete from alias where not exists (select 1 from entity where entity.id = alias.entity)",
    "delete from thread where not exists (select 1 from memory where memory.thread = thread.id)",
    "delete from name_seen where not exists"
    " (select 1 from json_each(name_seen.chunks) as seen join chunk on chunk.id = seen.value)",
    "update name_seen set chunks = (select json_group_array(chunk.id) from json_each(name_seen.chunks) as seen"
    " join chunk on chunk.id = seen.value)"
    " where exists (select 1 from json_each(name_seen.chunks) as seen where seen.value not in (select id from chunk))",
    "delete from code_root where id not in (select root from code_file) and id not in (select root from code_skip)",
    "delete from code_scope where root not in (select id from code_root)",
)
# Words of removed chunks stay in the segments of the full text until these are merged.
MERGE_WORDS = "insert into chunk_fts (chunk_fts) values ('optimize')"
DROP_PLAN_ITEMS = "delete from plan_item where plan = (select id from plan where uid = ?)"
SET_PURGED = "update receipt set purged_at = ? where id = ?"

# audit, pins, tombstones
AUDIT = """
    select at, actor, action, subject, counts, reason from audit where :subject is null or subject = :subject
    order by id desc limit :limit"""
IS_BURIED = "select 1 from tombstone where hash = ?"
BURIED = "select hash from tombstone where hash in (select unhex(value) from json_each(?))"
TOMBSTONES = "select memory, at, reason from tombstone order by at desc"
