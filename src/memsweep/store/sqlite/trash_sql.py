"""Statements that undo, list and free, and of the audit log. Pure text; values are always bound.

Sets of keys are JSON lists.
"""

from __future__ import annotations

# what is in the trash
# A file may be known by another root, under another path. The cross joins keep the order: each step is a lookup then.
CLASHING_FILES = """
    select mine.id, mine.uid, theirs.uid from json_each(?) as wanted join memory as mine on mine.id = wanted.value
    join code_file on code_file.memory = mine.id
    join code_root as home on home.id = code_file.root
    cross join code_root as root
      on substr(rtrim(home.path, '/') || '/' || code_file.path, 1, length(rtrim(root.path, '/')) + 1)
       = rtrim(root.path, '/') || '/'
    cross join code_file as other on other.root = root.id and other.memory <> mine.id
      and other.path = substr(rtrim(home.path, '/') || '/' || code_file.path, length(rtrim(root.path, '/')) + 2)
    cross join memory as theirs on theirs.id = other.memory and theirs.trash is null"""
SAME_TEXTS = """
    select mine.id, mine.uid, theirs.uid, theirs.id
    from json_each(?) as wanted join memory as mine on mine.id = wanted.value
    join memory as theirs on theirs.content_hash = mine.content_hash and theirs.trash is null
      and theirs.source <> 'code_indexer' and theirs.thread is mine.thread and theirs.text = mine.text
    where mine.source <> 'code_indexer'"""
# looking into the trash
_TRASHED = """
    with receipt as not materialized (select * from main.receipt where :receipt is null or uid = :receipt)
    select 'memory', memory.uid, substr(memory.text, 1, 80), receipt.uid, receipt.strategy, receipt.created_at,
           receipt.plan, memory.id, coalesce(code_file.path, '')
    from memory join receipt on receipt.id = memory.trash left join code_file on code_file.memory = memory.id
    union all
    select 'entity', entity.uid, entity.name, receipt.uid, receipt.strategy, receipt.created_at, receipt.plan,
           entity.id, ''
    from entity join receipt on receipt.id = entity.trash
    union all
    select 'chunk', chunk.uid, substr(chunk.text, 1, 80), receipt.uid, receipt.strategy, receipt.created_at,
           receipt.plan, chunk.id, ''
    from chunk join receipt on receipt.id = chunk.trash where chunk.memory not in (select id from memory)
    union all
    select 'segment', segment.uid, substr(segment.text, 1, 80), receipt.uid, receipt.strategy, receipt.created_at,
           receipt.plan, segment.id, ''
    from segment join receipt on receipt.id = segment.trash
    union all
    select 'relation', relation.uid, subject.name || ' ' || relation.relation || ' ' || object.name, receipt.uid,
           receipt.strategy, receipt.created_at, receipt.plan, relation.id, ''
    from relation join receipt on receipt.id = relation.trash
    join entity as subject on subject.id = relation.subject and subject.trash is not relation.trash
    join entity as object on object.id = relation.object and object.trash is not relation.trash
    union all
    select 'revision', before ->> 'id', revision.kind, receipt.uid, receipt.strategy, receipt.created_at, receipt.plan,
           revision.id, ''
    from revision join receipt on receipt.id = revision.receipt
    where revision.kind in ('memory', 'entity', 'relation', 'segment')"""
TRASH_LIST = f"{_TRASHED} order by 6 desc, 1 desc, 8 limit :limit offset :offset"
COUNT_OF_RECEIPT = f"select count(*) from ({_TRASHED})"
TRASH_COUNT = """
    select (select count(*) from memory where trash is not null)
         + (select count(*) from entity where trash is not null)
         + (select count(*) from chunk where trash is not null and memory not in (select id from memory))
         + (select count(*) from segment where trash is not null)
         + (select count(*) from revision where kind in ('memory', 'entity', 'relation', 'segment'))
         + (select count(*) from relation join entity as subject on subject.id = subject
            join entity as object on object.id = object
            where relation.trash is not null and subject.trash is not relation.trash
              and object.trash is not relation.trash)"""
REASON_OF = """
    select reason, evidence from plan_item join plan on plan.id = plan_item.plan
    where plan.uid = ? and kind = ? and key = ?"""

# freeing
# Words of removed chunks stay in the segments of the full text until these are merged.
MERGE_WORDS = "insert into chunk_fts (chunk_fts) values ('optimize')"
# What is too old to tell of: receipts that were purged, with their plans, and events of the log.
_SPENT = """
    (select id from receipt
     where purged_at < :before and action not in ('merge', 'unmerge')
       and not exists (select 1 from segment where segment.stash = receipt.id)
     order by purged_at, id limit :most)"""
LET_GO = (
    f"delete from plan_item where plan in (select id from plan where receipt in {_SPENT})",
    f"delete from plan where receipt in {_SPENT}",
    f"delete from receipt where id in {_SPENT}",
    """
    delete from audit where id in (
        select id from audit where at < :before and action <> 'backup' and substr(action, 1, 7) <> 'import_'
        order by at, id limit :most)""",
)
MERGE_SEGMENT_WORDS = "insert into segment_fts (segment_fts) values ('optimize')"
