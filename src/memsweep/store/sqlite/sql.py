"""Every statement the embedded engine runs. Pure text; values are always bound, never pasted in."""

from __future__ import annotations

FACT = "weight, last_seen, evidence, handed_in, created_at, valid_at, invalid_at"
"""What changes of a relation, as a fact's state has it."""
# meta

ADD_CHUNK = """
    insert into chunk (uid, memory, position, text, start, first_line, last_line, hash, stream, stream_position)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

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

CHUNKS_OF_MEMORY = """
    select id, hash, text, words, symbol, symbol_kind, first_line, last_line, position from chunk
    where memory = ? and trash is null order by position"""
COUNT_MEMORIES = "select count(*) from memory"
