"""Memories that change in place, and their revisions: statements. Pure text; values are always bound."""

from __future__ import annotations

_KEYS = "(select value from json_each(:keys))"
COUNT_OF_MEMORY = "select count(*), max(at) from revision where kind = 'memory' and item = ?"

PIECES = f"""
    select chunk.memory, chunk.uid, text, start, first_line, last_line, vector.data, stream, stream_position, symbol,
           symbol_kind, words, (select json_group_array(json_array(entity, origin)) from mention
                                where mention.chunk = chunk.id), chunk.id
    from chunk left join vector on vector.chunk = chunk.id where memory in {_KEYS} order by memory, position"""
UNINDEX = """
    insert into chunk_fts (chunk_fts, rowid, text)
    select 'delete', id, spread_script(text || ' ' || words) from chunk where memory = ? and trash is null"""
DROP_VECTORS = "delete from vector where chunk in (select id from chunk where memory = ?)"
DROP_MENTIONS = "delete from mention where chunk in (select id from chunk where memory = ?)"
DROP_CHUNKS = "delete from chunk where memory = ?"
CHUNKS_BEFORE = "select id from chunk where memory = ?"
# A name that is only counted was seen in chunks that are no more.
NAMES_SEEN_IN = """
    select name_key, name, evidence, chunks from name_seen
    where exists (select 1 from json_each(chunks) as seen where seen.value in (select value from json_each(:keys)))"""
