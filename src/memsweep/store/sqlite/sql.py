"""Every statement the embedded engine runs. Pure text; values are always bound, never pasted in."""

from __future__ import annotations

FACT = "weight, last_seen, evidence, handed_in, created_at, valid_at, invalid_at"
"""What changes of a relation, as a fact's state has it."""
# meta

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
ANY_ALIAS = "select exists (select 1 from alias)"
ADD_MENTION = "insert into mention (chunk, entity, origin) values (?, ?, ?) on conflict do nothing"

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
