"""Every statement the embedded engine runs. Pure text; values are always bound, never pasted in."""

from __future__ import annotations

import json
from typing import Any

from memsweep.model.search import Filters
from memsweep.model.times import to_micros

# meta
GET_META = "select value from meta where key = ?"
SET_META = "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value"

# remembering
KNOWS_HASH = "select 1 from memory where content_hash = ? and trash is null"
FIND_TWIN = """
    select memory.id, memory.uid, memory.tags, memory.metadata from memory
    left join thread on thread.id = memory.thread
    where content_hash = :hash and trash is null and stale = 0 and source <> :code_source
      and thread.uid is :thread and memory.text = :text
    limit 1"""
TOUCH_MEMORY = """
    update memory set last_seen_at = max(coalesce(last_seen_at, created_at), :now), tags = :tags, metadata = :metadata,
        expires_at = coalesce(:expires_at, expires_at), pinned = max(pinned, :pinned), version = version + 1
    where id = :id"""
ADD_THREAD = "insert into thread (uid) values (?) on conflict (uid) do nothing"
THREAD_ID = "select id from thread where uid = ?"
ADD_MEMORY = """
    insert into memory (uid, text, tags, source, metadata, thread, created_at, updated_at, last_seen_at,
                        expires_at, pinned, content_hash)
    values (:uid, :text, :tags, :source, :metadata, :thread, :now, :now, :now, :expires_at, :pinned, :hash)
    returning id"""
ADD_TAG = "insert into memory_tag (tag, memory) values (?, ?) on conflict do nothing"
LAST_POSITION = "select max(stream_position) from chunk where stream = ?"
ADD_CHUNK = """
    insert into chunk (uid, memory, position, text, start, first_line, last_line, hash, stream, stream_position)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id"""
ADD_VECTOR = "insert into vector (chunk, data) values (?, ?)"
ADD_WORDS = "insert into chunk_fts (rowid, text) values (?, spread_script(?))"

# names and facts
FIND_ENTITY = "select id from entity where name_key = ? and type_key = ? and trash is null"
FIND_ENTITY_ANY_TYPE = "select id from entity where name_key = ? and trash is null order by handed_in desc, id limit 1"
ADD_ENTITY = """
    insert into entity (uid, name, name_key, type, type_key, confidence, handed_in, created_at, last_seen)
    values (:uid, :name, :key, :type, :type_key, :confidence, :handed_in, :now, :now) returning id"""
TOUCH_ENTITY = """
    update entity set last_seen = max(last_seen, :now), handed_in = max(handed_in, :handed_in), version = version + 1
    where id = :id"""
ADD_MENTION = "insert into mention (chunk, entity) values (?, ?) on conflict do nothing"
ADD_RELATION = """
    insert into relation (uid, subject, object, relation, relation_key, weight, handed_in, created_at, last_seen,
                          valid_at)
    values (:uid, :subject, :object, :relation, :key, :weight, 1, :now, :now, :now)
    on conflict (subject, relation_key, object) where trash is null and invalid_at is null
    do update set weight = max(coalesce(weight, 0), excluded.weight), evidence = evidence + 1, handed_in = 1,
        last_seen = max(last_seen, excluded.last_seen), version = version + 1"""
GET_NAME_SEEN = "select evidence, chunks from name_seen where name_key = ?"
SET_NAME_SEEN = """
    insert into name_seen (name_key, name, evidence, chunks) values (:key, :name, :evidence, :chunks)
    on conflict (name_key) do update set evidence = excluded.evidence, chunks = excluded.chunks"""
DROP_NAME_SEEN = "delete from name_seen where name_key = ?"

# reading
GET_MEMORY = """
    select live_memory.id, live_memory.uid, text, tags, source, metadata, thread.uid, created_at, updated_at,
           coalesce(last_seen_at, created_at), expires_at, stale, pinned, version,
           (select count(*) from live_chunk where memory = live_memory.id)
    from live_memory left join thread on thread.id = live_memory.thread where live_memory.uid = ?"""
ENTITIES_OF_MEMORY = """
    select distinct live_entity.name, live_entity.type from live_chunk
    join live_mention on live_mention.chunk = live_chunk.id
    join live_entity on live_entity.id = live_mention.entity
    where live_chunk.memory = ? order by live_entity.id"""
COUNTS = """
    select (select count(*) from live_memory), (select count(*) from live_chunk), (select count(*) from live_entity),
           (select count(*) from live_relation), (select count(*) from live_memory where stale),
           (select min(created_at) from live_memory), (select max(created_at) from live_memory)"""
PASSAGES = """
    select chunk.id, chunk.uid, memory.uid, chunk.text, first_line, last_line, source, tags, created_at,
           thread.uid, stale, pinned
    from json_each(?) as wanted
    join chunk on chunk.id = wanted.value and chunk.trash is null
    join memory on memory.id = chunk.memory and memory.trash is null
    left join thread on thread.id = memory.thread"""

# searching
WORD_COUNT = "select doc from chunk_word where term = ?"
ANY_STALE = "select exists (select 1 from memory where stale)"
LAST_CHUNK = "select coalesce(max(id), 0) from chunk"
PLACES = "select id, stream, stream_position from chunk where id in (select value from json_each(?))"

# vectors
VECTORS_STATE = "select (select value from meta where key = 'vector_generation'), (select max(chunk) from vector)"
VECTORS_AFTER = "select chunk, data from vector where chunk > ? order by chunk"
MAKE_STAGE = "create table if not exists vector_stage (chunk integer primary key, data blob not null) strict"
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

# registry
LIST_WORKSPACES = "select name, description, created_at from workspace where deleted_at is null order by name"
FIND_WORKSPACE = "select file from workspace where name = ? and deleted_at is null"
ADD_WORKSPACE = "insert into workspace (name, file, description, created_at) values (?, ?, ?, ?)"
ADOPT_WORKSPACE = ADD_WORKSPACE + " on conflict do nothing"
HIDE_WORKSPACE = "update workspace set deleted_at = ? where name = ? and deleted_at is null"


def condition(filters: Filters) -> tuple[str, list[Any]]:
    """What a memory must be, as a condition on `memory`, with its values. Staleness is not part of it."""
    parts: list[str] = []
    values: list[Any] = []
    if filters.tags:
        parts.append(
            "memory.id in (select memory from memory_tag where tag in (select value from json_each(?))"
            " group by memory having count(*) = ?)"
        )
        values += [json.dumps(filters.tags), len(set(filters.tags))]
    if filters.source is not None:
        parts.append("memory.source = ?")
        values.append(filters.source)
    for bound, sign in ((filters.date_from, ">="), (filters.date_to, "<=")):
        if bound is not None:
            parts.append(f"memory.created_at {sign} ?")
            values.append(to_micros(bound))
    return " and ".join(parts), values


def eligible(filters: Filters, *, any_stale: bool, key: str) -> tuple[str, list[Any]]:
    """` and …` for a statement about chunks whose key column is `key`; empty where everything is eligible.

    A filter lists what passes, staleness lists what does not: both lists are short in practice.
    """
    clause, values = condition(filters)
    members = "select chunk.id from memory join chunk on chunk.memory = memory.id where memory.trash is null"
    parts = [f" and {key} in ({members} and {clause})"] if clause else []
    if any_stale and not filters.include_stale:
        parts.append(f" and {key} not in ({members} and memory.stale)")
    return "".join(parts), values


def match_words(where: str) -> str:
    return (
        f"select rowid, bm25(chunk_fts) as score from chunk_fts where chunk_fts match ?{where} order by score limit ?"
    )


def live_of(where: str) -> str:
    """Which of some chunks are live and pass."""
    return (
        "select chunk.id from json_each(?) as wanted join chunk on chunk.id = wanted.value"
        f" where chunk.trash is null{where}"
    )


def newest(where: str) -> str:
    return f"select chunk.id from chunk where trash is null{where} order by chunk.id desc limit ?"


def at_places(where: str) -> str:
    return (
        "select chunk.id, chunk.stream, chunk.stream_position from json_each(?) as wanted"
        " join chunk on chunk.stream = wanted.value ->> 0 and chunk.stream_position = wanted.value ->> 1"
        f" where chunk.trash is null{where}"
    )
