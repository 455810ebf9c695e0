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
