"""Statements that make several entities one, and take them apart again. Pure text; values are always bound."""

from __future__ import annotations

MENTIONS_OF = """
    select chunk, exists (select 1 from mention as theirs
                          where theirs.chunk = mention.chunk and theirs.entity = :target)
    from mention where entity = :source"""
MOVE_MENTIONS = """
    insert into mention (chunk, entity, trash)
    select chunk, :target, trash from mention where entity = :source on conflict do nothing"""
DROP_MENTIONS = "delete from mention where entity = :source"
ADD_MENTION_AGAIN = """
    insert into mention (chunk, entity, trash) select id, ?2, trash from chunk where id = ?1 on conflict do nothing"""
DROP_MENTION = "delete from mention where chunk = ? and entity = ?"

RELATIONS_OF = """
    select id, subject, object, relation_key, weight, last_seen, evidence, handed_in,
           trash is null and invalid_at is null
    from relation where subject = :source or object = :source order by id"""
TWIN = """
    select id, weight, last_seen, evidence, handed_in from relation
    where subject = ? and relation_key = ? and object = ? and id <> ? and trash is null and invalid_at is null"""
TRASH_RELATION = "update relation set trash = ? where id = ?"
SET_ENDS = "update relation set subject = ?, object = ?, version = version + 1 where id = ?"
SET_SUBJECT = "update relation set subject = ?, version = version + 1 where id = ?"
SET_OBJECT = "update relation set object = ?, version = version + 1 where id = ?"
SET_STRENGTH = """
    update relation set weight = ?, last_seen = ?, evidence = ?, handed_in = ?, version = version + 1 where id = ?"""
# Only if nothing has strengthened it since.
PUT_BACK_STRENGTH = """
    update relation set weight = ?, last_seen = ?, evidence = ?, handed_in = ?, version = version + 1
    where weight is ? and last_seen = ? and evidence = ? and handed_in = ? and id = ?"""
SOURCES = "select memory from relation_source where relation = ?"
ADD_SOURCE = "insert into relation_source (relation, memory) values (?, ?) on conflict do nothing returning memory"
DROP_SOURCE = "delete from relation_source where relation = ? and memory = ?"

GET_ENTITY = """
    select id, uid, name, name_key, type_key, confidence, last_seen, handed_in, pinned, version, trash
    from entity where id = ?"""
SET_ENTITY = """
    update entity set confidence = ?, last_seen = ?, handed_in = ?, pinned = ?, version = version + 1
    where id = ? returning version"""
PUT_BACK_ENTITY = """
    update entity set confidence = ?, last_seen = ?, handed_in = ?, pinned = ?, version = ?
    where id = ? and version = ?"""
TRASH_ENTITY = "update entity set trash = ? where id = ?"
SOURCES_OF_RECEIPT = "select id, uid, name, name_key, type_key from entity where trash = ? order by id"
HOLDER_OF_TARGET = """
    select entity.name, receipt.uid from merge_move join entity on entity.id = merge_move.a
    join receipt on receipt.id = entity.trash where merge_move.receipt = ? and merge_move.kind = 'target' limit 1"""
LIVE_TWIN = "select uid from live_entity where name_key = ? and type_key = ?"

ALIASES_OF = "select name_key, type_key from alias where entity = ?"
ALIAS_NAMES = "select name from alias where entity = ? order by name"
FIND_ALIAS = """
    select live_entity.id from alias join live_entity on live_entity.id = alias.entity
    where alias.name_key = ? and alias.type_key = ?"""
POINT_ALIAS = "update alias set entity = ? where name_key = ? and type_key = ?"
ADD_ALIAS = """
    insert into alias (name_key, type_key, name, entity, receipt) values (?, ?, ?, ?, ?)
    on conflict (name_key, type_key) do update set entity = excluded.entity, receipt = excluded.receipt"""
DROP_ALIASES = "delete from alias where receipt = ?"
DROP_ALIAS = "delete from alias where name_key = ? and type_key = ?"

ADD_MOVE = "insert into merge_move (receipt, kind, a, b, c, said) values (?, ?, ?, ?, ?, ?)"
MOVES = "select kind, a, b, c, said from merge_move where receipt = ? order by rowid desc"
DROP_MOVES = "delete from merge_move where receipt = ?"

COUNT_MOVED = """
    select (select count(*) from live_mention where entity in (select value from json_each(:keys))),
           (select count(*) from live_relation where subject in (select value from json_each(:keys))
            or object in (select value from json_each(:keys)))"""
RELATIONS_BY_UID = """
    select id, subject, object from live_relation where uid in (select value from json_each(?))"""
MENTIONS_IN = """
    select mention.chunk from mention join chunk on chunk.id = mention.chunk
    join live_memory on live_memory.id = chunk.memory
    where mention.entity = ? and mention.trash is null and live_memory.uid in (select value from json_each(?))"""
