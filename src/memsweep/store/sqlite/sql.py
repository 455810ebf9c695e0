"""Every statement the embedded engine runs. Pure text; values are always bound, never pasted in."""

from __future__ import annotations

from memsweep.store.sqlite.superseding_sql import NOT_SUPERSEDED
from memsweep.store.things.memories import MEMORY

FACT = "weight, last_seen, evidence, handed_in, created_at, valid_at, invalid_at"
"""What changes of a relation, as a fact's state has it."""
# meta

# remembering
KNOWS_HASH = "select 1 from memory where content_hash = ? and trash is null"
FIND_SAME_TEXT = f"""
    select {", ".join(f"memory.{MEMORY.in_file(name)}" for name in MEMORY.columns)}
    from memory left join thread on thread.id = memory.thread
    where content_hash = :hash and trash is null and stale = 0 and source <> :code_source
      and thread.uid is :thread and memory.text = :text and {NOT_SUPERSEDED}
    limit 1"""
ADD_THREAD = "insert into thread (uid) values (?)"
THREAD_ID = "select id from thread where uid = ?"
ADD_TAG = "insert into memory_tag (tag, memory) values (?, ?) on conflict do nothing"
CHUNK_KEYS = """
    select chunk.id from chunk join memory on memory.id = chunk.memory
    where memory.uid = ? and chunk.trash is null order by position"""
LAST_POSITION = "select max(stream_position) from chunk where stream = ?"
IS_TAKEN = "select 1 from chunk where stream = ? and stream_position = ? and memory is not ?"
ADD_CHUNK = """
    insert into chunk (uid, memory, position, text, start, first_line, last_line, hash, stream, stream_position)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
ADD_VECTOR = "insert into vector (chunk, data) values (?, ?)"
ADD_WORDS = "insert into chunk_fts (rowid, text) values (?, spread_script(? || ' ' || ?))"
DROP_WORDS = "insert into chunk_fts (chunk_fts, rowid, text) values ('delete', ?, spread_script(? || ' ' || ?))"

# names and facts
# A name that is not an entity's may be the old name of one.
# The other names are only looked at where there is no entity of that name.
FIND_ENTITY = """
    select coalesce(
        (select id from entity where name_key = ?1 and type_key = ?2 and trash is null),
        (select id from entity
         where id = (select entity from alias where name_key = ?1 and type_key = ?2) and trash is null))"""
ENTITIES_NAMED = "select handed_in, -id from entity where name_key = ? and trash is null"
ENTITIES_ALSO_NAMED = """
    select handed_in, -id from entity where id in (select entity from alias where name_key = ?) and trash is null"""
ANY_ALIAS = "select exists (select 1 from alias)"
ADD_ENTITY = """
    insert into entity (uid, name, name_key, type, type_key, confidence, handed_in, created_at, last_seen, origin)
    values (:uid, :name, :key, :type, :type_key, :confidence, :handed_in, :now, :now, :origin)"""
# What two origins have handed in is neither's alone.
TOUCH_ENTITY = """
    update entity set last_seen = max(last_seen, :now), handed_in = max(handed_in, :handed_in), version = version + 1,
        origin = case when :handed_in and origin is not :origin then 0 else origin end
    where id = :id"""
ADD_MENTION = "insert into mention (chunk, entity, origin) values (?, ?, ?) on conflict do nothing"
# The chunk may be in the trash by now, and its mention is where it is.
ADD_EARLIER_MENTION = """
    insert into mention (chunk, entity, trash) select id, ?, trash from chunk where id = ? on conflict do nothing"""
ADD_RELATION = """
    insert into relation (uid, subject, object, relation, relation_key, weight, handed_in, created_at, last_seen,
                          valid_at, origin)
    values (:uid, :subject, :object, :relation, :key, :weight, 0, :now, :now, :now, :origin)"""
GET_RELATION = f"""
    select id, {FACT} from live_relation
    where subject = ? and relation_key = ? and object = ? and invalid_at is null"""
# Relations both ends of which one of these chunks mentions.
MENTIONED_RELATIONS = """
    select distinct live_relation.id, chunk.text, subject.name, relation, object.name, live_relation.weight,
           live_relation.last_seen, live_relation.evidence, live_relation.handed_in, live_relation.created_at,
           live_relation.valid_at, live_relation.invalid_at
    from json_each(?) as wanted
    join chunk on chunk.id = wanted.value
    join live_mention as one on one.chunk = chunk.id
    join live_relation on live_relation.subject = one.entity and live_relation.invalid_at is null
    join live_mention as other on other.chunk = chunk.id and other.entity = live_relation.object
    join live_entity as subject on subject.id = live_relation.subject
    join live_entity as object on object.id = live_relation.object
    order by live_relation.id"""
TOUCH_MENTIONED = """
    update entity set last_seen = max(last_seen, ?), version = version + 1
    where trash is null and id in (
        select entity from mention join chunk on chunk.id = mention.chunk
        where chunk.memory = ? and chunk.trash is null and mention.trash is null)"""
GET_NAME_SEEN = "select evidence, chunks from name_seen where name_key = ?"
SET_NAME_SEEN = """
    insert into name_seen (name_key, name, evidence, chunks) values (:key, :name, :evidence, :chunks)
    on conflict (name_key) do update set evidence = excluded.evidence, chunks = excluded.chunks"""
DROP_NAME_SEEN = "delete from name_seen where name_key = ?"

# reading
COUNT_CHUNKS_OF = "select count(*) from chunk where memory = ? and trash is null"
# Older readings than what is known change nothing; the version says nothing of being read.
MARK_SEEN = """
    update memory set last_seen_at = seen.value ->> 1 from json_each(?) as seen
    where memory.uid = seen.value ->> 0 and trash is null and coalesce(last_seen_at, created_at) < seen.value ->> 1"""
ENTITIES_OF_MEMORY = """
    select distinct live_entity.name, live_entity.type from live_chunk
    join live_mention on live_mention.chunk = live_chunk.id
    join live_entity on live_entity.id = live_mention.entity
    where live_chunk.memory = ? order by live_entity.id"""
# All less what is in the trash: of both an index knows how many there are.
_LIVE = "(select count(*) from {0}) - (select count(*) from {0} where trash is not null)"
COUNTS = f"""
    select {", ".join(map(_LIVE.format, ("memory", "chunk", "entity", "relation")))},
           (select count(*) from live_memory where stale), min(created_at), max(created_at)
    from memory indexed by memory_by_number where trash is null"""

# vectors
VECTORS_STATE = "select (select value from meta where key = 'vector_generation'), (select max(chunk) from vector)"
VECTORS_TO = "select chunk, data from vector where chunk <= ?"
VECTOR = "select data from vector where chunk = ?"
VECTORS_AFTER = "select chunk, data from vector where chunk > ? order by chunk"
DROP_STAGE = "drop table if exists vector_stage"
UNSTAGED = """
    select chunk.id, chunk.text from chunk left join vector_stage on vector_stage.chunk = chunk.id
    where vector_stage.chunk is null order by chunk.id limit ?"""
UNSTAGED_COUNT = """
    select count(*) from chunk left join vector_stage on vector_stage.chunk = chunk.id
    where vector_stage.chunk is null"""
STAGE_VECTOR = "insert into vector_stage (chunk, data) values (?, ?) on conflict (chunk) do nothing"
SWITCH_VECTORS = """
    delete from vector;
    insert into vector (chunk, data) select chunk, data from vector_stage order by chunk;
    drop table vector_stage"""

# code
COPY_VECTOR = "insert into vector (chunk, data) select ?, data from vector where chunk = ?"
MEMORY_KEY = "select id from memory where uid = ?"
LIVE_MEMORY_KEY = "select id from memory where uid = ? and trash is null"
ADD_CODE_MEMORY = """
    insert into memory (uid, text, source, created_at, updated_at, last_seen_at, content_hash, origin)
    values (:uid, :text, :source, :now, :now, :now, :hash, :origin)"""
CHANGE_CODE_MEMORY = """
    update memory set text = :text, content_hash = :hash, updated_at = :now, last_seen_at = :now,
        origin = :origin, version = version + 1 where id = :id"""
SET_CODE_FILE = """
    insert into code_file (memory, root, path, language, stamp, digest, read_at_ns, lines, functions, classes,
                           encoding, failure)
    values (:memory, :root, :path, :language, :stamp, :digest, :read_at_ns, :lines, :functions, :classes,
            :encoding, :failure)
    on conflict (memory) do update set root = excluded.root, path = excluded.path,
        language = excluded.language, stamp = excluded.stamp,
        digest = excluded.digest, read_at_ns = excluded.read_at_ns, lines = excluded.lines,
        functions = excluded.functions, classes = excluded.classes, encoding = excluded.encoding,
        failure = excluded.failure"""
DROP_CODE_SKIP = "delete from code_skip where root = ? and path = ?"
CHUNKS_OF_MEMORY = """
    select id, hash, text, words, symbol, symbol_kind, first_line, last_line, position from chunk
    where memory = ? and trash is null order by position"""
MOVE_CHUNK = """
    update chunk set position = ?, text = ?, first_line = ?, last_line = ?, symbol = ?, symbol_kind = ?, words = ?,
        stream = ?, stream_position = ? where id = ?"""
ADD_CODE_CHUNK = """
    insert into chunk (uid, memory, position, text, start, first_line, last_line, hash, stream, stream_position, symbol,
                       symbol_kind, words)
    values (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?) returning id"""
DROP_CHUNK = "delete from chunk where id = ?"
DROP_VECTOR = "delete from vector where chunk = ?"
DROP_MENTIONS = "delete from mention where chunk = ?"
MENTIONS_OF_MEMORY = """
    select mention.chunk, mention.entity from mention join chunk on chunk.id = mention.chunk
    where chunk.memory = ? and chunk.trash is null"""
DROP_MENTION = "delete from mention where chunk = ? and entity = ?"
SEE_ENTITY = """
    insert into entity (uid, name, name_key, type, type_key, confidence, created_at, last_seen, origin)
    values (:uid, :name, :key, :type, :type_key, 1.0, :now, :now, :origin)
    on conflict (name_key, type_key) where trash is null do update set last_seen = max(last_seen, excluded.last_seen)
    returning id, name"""
SEE_ENTITY_AT = "update entity set last_seen = max(last_seen, ?) where id = ?"
SEE_RELATION = """
    insert into relation (uid, subject, object, relation, relation_key, weight, created_at, last_seen, valid_at, origin)
    values (?, ?, ?, ?, ?, 1.0, ?, ?, ?, ?)
    on conflict (subject, relation_key, object) where trash is null and invalid_at is null
    do update set last_seen = max(last_seen, excluded.last_seen), weight = excluded.weight returning id"""
RELATIONS_OF_MEMORY = "select relation from relation_source where memory = ?"
ADD_SOURCE = "insert into relation_source (relation, memory) values (?, ?) on conflict do nothing"
DROP_SOURCE = "delete from relation_source where relation = ? and memory = ?"
WHO_STATES = """
    select relation.id, relation.handed_in, relation.trash, relation_source.memory, memory.trash
    from json_each(?) as wanted join relation on relation.id = wanted.value
    left join relation_source on relation_source.relation = relation.id
    left join memory on memory.id = relation_source.memory"""
COUNT_MEMORIES = "select count(*) from memory"
