"""The statements of context windows. Pure text; values are always bound."""

from __future__ import annotations

from memsweep.store.sqlite.origin_sql import FIELDS

FIND_PROJECT = """
    select id, tokens, segments, stashed, changes, full_from, counted_by, config, focus, places, turns
    from project where uid = ?"""
ADD_PROJECT = "insert into project (uid, created_at) values (?, ?) on conflict (uid) do nothing"
PROJECTS = "select uid from project order by uid"
WINDOWS = """
    select uid, tokens, segments, stashed, counted_by from project where segments + stashed > 0 order by uid"""
SAVE_PROJECT = """
    update project set tokens = :tokens, segments = :segments, stashed = :stashed, changes = :changes,
        full_from = :full_from, counted_by = :counted_by, config = :config, focus = :focus, places = :places,
        turns = :turns where id = :id"""

_FIELDS = """
    segment.id, version, place, stash is not null, uid, type, created_at, last_touched_at, pinned, generation,
    gc_survival_count, refcount, file_path, first_line, last_line, tags, topic_id, tokens, role, task_id, refs, text"""
_ACTIVE = "segment.project = :project and segment.stash is null and segment.trash is null"

ADD_SEGMENT = """
    insert into segment (project, place, turn, uid, type, created_at, last_touched_at, pinned, generation,
        gc_survival_count, refcount, file_path, first_line, last_line, tags, topic_id, tokens, role, task_id, refs,
        text, origin)
    values (:project, :place, :turn, :uid, :type, :created_at, :last_touched_at, :pinned, :generation,
        :gc_survival_count, :refcount, :file_path, :first_line, :last_line, :tags, :topic_id, :tokens, :role,
        :task_id, :refs, :text, :origin)
    returning id"""
ADD_LINK = "insert or ignore into segment_link (project, target, source) values (?, ?, ?)"
INDEX_TEXT = "insert into segment_fts (rowid, text) select id, text from segment_text where id = ?"

ACTIVE = f"select {_FIELDS} from segment where {_ACTIVE} order by place"
LIVE = f"select {_FIELDS} from segment where project = :project and trash is null order by place"
BY_ID = f"""
    select {_FIELDS} from (select value from json_each(:ids)) as wanted cross join segment
    on segment.project = :project and segment.uid = wanted.value and segment.trash is null"""
ORIGINS = f"""
    select segment.uid, {FIELDS} from (select value from json_each(:ids)) as wanted cross join segment
    on segment.project = :project and segment.uid = wanted.value and segment.trash is null
    left join origin on origin.id = segment.origin"""
EVER_KNOWN = """
    select distinct segment.uid from (select value from json_each(:ids)) as wanted cross join segment
    on segment.project = :project and segment.uid = wanted.value"""
AT_PLACES = f"""
    select {_FIELDS} from (select value from json_each(:places)) as wanted cross join segment
    on segment.project = :project and segment.place = wanted.value
    where segment.stash is not null and segment.trash is null"""
STASHED = f"""
    select {_FIELDS} from segment where project = :project and place < :before and stash is not null and trash is null
    order by place desc limit :limit"""
NEXT_TO_EXAMINE = f"""
    select {_FIELDS} from segment where {_ACTIVE} and generation = :generation order by turn limit :count"""
OF_FILES = f"""
    select {_FIELDS} from (select value from json_each(:paths)) as wanted cross join segment
    on {_ACTIVE} and segment.file_path = wanted.value order by place"""
LAST_MESSAGES = f"""
    select uid from segment where {_ACTIVE} and type = 'message' order by place desc limit :count"""
REFERENCED = """
    select wanted.value from json_each(:ids) as wanted where exists (
        select 1 from segment_link as link join segment on segment.id = link.source
        where link.project = :project and link.target = wanted.value and segment.uid <> wanted.value
          and segment.stash is null and segment.trash is null)"""
MATCHES = """
    select segment.place, -bm25(segment_fts) from segment_fts join segment on segment.id = segment_fts.rowid
    where segment_fts match :words and segment.project = :project and segment.stash is not null
    order by segment_fts.rank, segment.place limit :count"""

# What the collector counts about a segment is no change of the segment: its version stays.
SET_AGE = "update segment set gc_survival_count = ?, generation = ? where id = ?"
SET_TURN = "update segment set turn = ? where id = ?"
TOUCH = """
    update segment set last_touched_at = :at, version = version + 1
    where project = :project and uid = :uid and stash is null and trash is null and last_touched_at < :at"""
SET_PINNED = "update segment set pinned = ?, version = version + 1 where id = ?"
STASH = "update segment set stash = ?, version = version + 1 where id = ?"
RESTORE = "update segment set stash = null, turn = ?, version = version + 1 where id = ?"
UNINDEX_TEXT = """
    insert into segment_fts (segment_fts, rowid, text) select 'delete', id, text from segment_text where id = ?"""
TRASH = "update segment set trash = ? where id = ?"
UNPINNED = "select id, project from segment where trash is null and pinned = 0"
UNINDEX_THESE = """
    insert into segment_fts (segment_fts, rowid, text) select 'delete', segment.id, segment_text.text
    from segment join segment_text on segment_text.id = segment.id
    where segment.id in (select value from json_each(:keys))"""
TRASH_THESE = "update segment set trash = :receipt where id in (select value from json_each(:keys))"

# undoing
CLASHING = """
    select mine.id, mine.uid from segment as mine where mine.trash = ? and exists (
        select 1 from segment as theirs
        where theirs.project = mine.project and theirs.uid = mine.uid and theirs.trash is null)"""
STASHED_BY = "select uid from segment where stash = ? and trash is null"
_SUMMARIES = """
    from receipt join project on receipt.strategy = :context || project.uid
    join segment on segment.project = project.id and segment.type = 'summary'
      and segment.created_at = receipt.created_at
    where receipt.id = :receipt"""
SUMMARIES = f"""
    select segment.id, segment.project, segment.uid, segment.pinned, segment.refs {_SUMMARIES}
      and segment.trash is null
    order by segment.place"""
TAKEN_SINCE = f"""
    select uid from receipt where id <> :receipt and action <> 'undo' and undone_at is null and id in
        (select trash from segment where stash = :receipt union select segment.trash {_SUMMARIES})
    order by id desc"""
TOUCHED_PROJECTS = """
    select distinct project from segment where trash = :receipt or (stash = :receipt and trash is null)"""
UNTRASH = """
    update segment set trash = null where trash = ? and id not in (select value from json_each(?)) returning id"""
UNSTASH = """
    update segment set stash = null, version = version + 1 where stash = ? and trash is null returning id"""
HELD_BY = "select id from segment where trash in (select value from json_each(?))"
FREE_LINKS = """
    delete from segment_link
    where source in (select id from segment where trash in (select value from json_each(?)))"""
FREE_SEGMENTS = "delete from segment where trash in (select value from json_each(?))"
# Words of removed segments stay in the full text until its parts are merged.
MERGE_WORDS = "insert into segment_fts (segment_fts) values ('optimize')"
RECOUNT_ALL = """
    update project set (tokens, segments) = (
        select coalesce(sum(tokens), 0), count(*) from segment
        where segment.project = project.id and stash is null and trash is null),
    stashed = (select count(*) from segment
        where segment.project = project.id and stash is not null and trash is null)"""
RECOUNT = f"{RECOUNT_ALL} where id = ?"
