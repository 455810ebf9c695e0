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
    select id, subject, object, relation_key, trash is null, trash is null and invalid_at is null from relation
    where subject = :source or object = :source order by id"""
TWIN = """
    select id from relation
    where subject = ? and relation_key = ? and object = ? and id <> ? and trash is null and invalid_at is null"""
TRASH_RELATION = "update relation set trash = ? where id = ?"
SET_ENDS = "update relation set subject = ?, object = ?, version = version + 1 where id = ?"
# What was split off meanwhile stays where it is.
SET_SUBJECT = "update relation set subject = ?, version = version + 1 where id = ? and subject = ?"
SET_OBJECT = "update relation set object = ?, version = version + 1 where id = ? and object = ?"
STRENGTH = "select weight, last_seen, evidence, handed_in from relation where id = ?"
SET_STRENGTH = """
    update relation set weight = ?, last_seen = ?, evidence = ?, handed_in = ?, version = version + 1 where id = ?"""
SOURCES = "select memory from relation_source where relation = ?"
ADD_SOURCE = "insert into relation_source (relation, memory) values (?, ?) on conflict do nothing returning memory"
DROP_SOURCE = "delete from relation_source where relation = ? and memory = ?"

GET_ENTITY = """
    select id, uid, name, name_key, type_key, confidence, last_seen, handed_in, pinned, version, trash
    from entity where id = ?"""
SET_ENTITY = """
    update entity set confidence = ?, last_seen = ?, handed_in = ?, pinned = ?, version = version + 1
    where id = ? returning version"""
PUT_BACK_ENTITY = "update entity set confidence = ?, last_seen = ?, handed_in = ?, pinned = ?, version = ? where id = ?"
TRASH_ENTITY = "update entity set trash = ? where id = ?"
SOURCES_OF_RECEIPT = "select id, uid, name, name_key, type_key from entity where trash = ? order by id"
HOLDER = """
    select entity.name, receipt.uid from entity join receipt on receipt.id = entity.trash
    where entity.id = ? and entity.trash <> ?"""
# A later merge that stands joined a fact to one that this merge moved, or put away one that this merge changed.
LATER_MERGE = """
    select receipt.uid from receipt join
        (select later.receipt as number from merge_move as mine
         join merge_move as later on later.a = mine.a and later.kind = 'strength' and later.receipt > mine.receipt
         where mine.receipt = :receipt and mine.kind in ('subject', 'object')
         union
         select relation.trash from merge_move as mine join relation on relation.id = mine.a
         where mine.receipt = :receipt and mine.kind in ('subject', 'object', 'strength', 'source')
           and relation.trash > mine.receipt
           and exists (select 1 from merge_move where merge_move.receipt = relation.trash))
    on receipt.id = number order by number desc limit 1"""
LIVE_TWIN = "select uid from live_entity where name_key = ? and type_key = ?"

ALIASES_OF = "select name_key, type_key from alias where entity = ?"
ALIAS_NAMES = "select name from alias where entity = ? order by name"
FIND_ALIAS = """
    select live_entity.id from alias join live_entity on live_entity.id = alias.entity
    where alias.name_key = ? and alias.type_key = ?"""
GET_ALIAS = "select entity, receipt, name from alias where name_key = ? and type_key = ?"
POINT_ALIAS = "update alias set entity = ? where name_key = ? and type_key = ?"
POINT_ALIAS_BACK = "update alias set entity = ? where name_key = ? and type_key = ? and entity = ?"
# Unless what it pointed at is gone, or the merge that made it was taken apart.
PUT_BACK_ALIAS = """
    insert into alias (name_key, type_key, name, entity, receipt) select ?1, ?2, ?3, ?4, ?5
    where exists (select 1 from entity where id = ?4)
      and not exists (select 1 from receipt where id = ?5 and undone_at is not null)
    on conflict (name_key, type_key) do update set entity = excluded.entity, receipt = excluded.receipt"""
ADD_ALIAS = """
    insert into alias (name_key, type_key, name, entity, receipt) values (?, ?, ?, ?, ?)
    on conflict (name_key, type_key) do update set entity = excluded.entity, receipt = excluded.receipt"""
DROP_ALIASES = "delete from alias where receipt = ?"
DROP_ALIAS = "delete from alias where name_key = ? and type_key = ?"

ADD_MOVE = "insert into merge_move (receipt, kind, a, b, c, said) values (?, ?, ?, ?, ?, ?)"
MOVES = "select kind, a, b, c, said from merge_move where receipt = ? order by rowid desc"
TARGET_STEPS = "select rowid, receipt, b, c, said from merge_move where kind = 'target' and a = ?"
STRENGTH_STEPS = "select rowid, receipt, b, said from merge_move where kind = 'strength' and a = ?"
JOINED = """
    select receipt, a, b from merge_move where kind = 'strength' and b is not null and receipt <> :receipt
      and a in (select a from merge_move where receipt = :receipt and kind = 'source') order by receipt, rowid"""
SOURCE_STRENGTHS = """
    select confidence, last_seen, handed_in, pinned from entity where id = ?1 or (?1 is null and trash = ?2)"""
SHARED_MENTIONS = """
    select a, min(rowid) from merge_move where kind = 'mention' and c is null and receipt <> :receipt and receipt in
        (select receipt from merge_move where kind = 'target' and a = :target)
    group by a"""
SET_MOVE = "update merge_move set said = ? where rowid = ?"
CLAIM_MENTION = "update merge_move set c = ? where rowid = ?"
MOVED_ENDS = """
    select receipt, kind, a, b from merge_move
    where kind in ('subject', 'object') and a in (select value from json_each(?))"""
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
