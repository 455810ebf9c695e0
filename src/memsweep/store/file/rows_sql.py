"""Whole tables in and out: statements for copies that cross engines. Pure text; values are always bound."""

from __future__ import annotations

from collections.abc import Iterable

from memsweep.store.things.every import TABLES as EVERY

# where the vectors of another model wait until all of them are there
MAKE_STAGE = "create table if not exists vector_stage (chunk integer primary key, data blob not null) strict"

TABLES = (*EVERY,)
"""In this order they can be written; what is derived from them is made afterwards."""
UNIQUE_INDEXES = ("entity_by_name", "relation_by_ends")
REBUILD_WORDS = (
    "insert into chunk_fts (chunk_fts) values ('rebuild')",
    "insert into segment_fts (segment_fts) values ('rebuild')",
)

_NUMBERED = [(it.in_file(it.numbered_by), it.table) for it in EVERY.values() if it.numbered_by]
# also of rows that are gone: a key never comes back
HIGHEST_KEYS = (
    "select max(seq) from sqlite_sequence",
    *(f"select max({key}) from {table}" for key, table in _NUMBERED),
)

# an unfinished copy knows how far it is
MAKE_MARKS = "create table copy_mark (key text primary key, value) without rowid"
GET_MARKS = "select key, value from copy_mark"
SET_MARK = "insert or replace into copy_mark (key, value) values (?, ?)"
DROP_MARKS = "drop table if exists copy_mark"

# What a graph is made of, in an order that is always the same. Edges come by whether their ends are in the trash.
THREADS = """
    select t.id as key, t.uid as id, coalesce(max(c.stream_position), -1) as last
    from thread t left join chunk c on c.stream = t.id group by t.id order by t.id"""
MEMORIES = """
    select m.*, f.* from memory m left join code_file f on f.memory = m.id
    where (m.trash is null) = {live} order by m.id"""
TRASHABLE = "select * from {table} where (trash is null) = {live} order by id"
MERGE_MOVES = "select *, row_number() over (order by rowid) - 1 as standing from merge_move order by rowid"
VECTORS = "select * from vector order by chunk"
OWNED = """
    select c.memory, c.id as key, c.position,
           m.trash is not null as trashed_memory, c.trash is not null as trashed_chunk
    from chunk c join memory m on m.id = c.memory order by 4, 5, c.id"""
RELATIONS = """
    select r.*, s.trash is not null as trashed_subject, o.trash is not null as trashed_object
    from relation r join entity s on s.id = r.subject join entity o on o.id = r.object
    where (r.trash is null) = {live} order by trashed_subject, trashed_object, r.id"""
MENTIONS = """
    select n.chunk, n.entity, n.origin, c.trash is not null as trashed_chunk, e.trash is not null as trashed_entity
    from mention n join chunk c on c.id = n.chunk join entity e on e.id = n.entity order by 4, 5, 1, 2"""
STATEMENTS = """
    select s.relation, s.memory, r.subject, m.trash is not null as trashed_memory, e.trash is not null as trashed_entity
    from relation_source s join relation r on r.id = s.relation join memory m on m.id = s.memory
    join entity e on e.id = r.subject order by 4, 5, 1, 2"""
SUPERSESSIONS = """
    select s.new, s.old, s.at, s.origins, n.trash is not null as trashed_new, o.trash is not null as trashed_old
    from supersession s join memory n on n.id = s.new join memory o on o.id = s.old order by 5, 6, 1, 2"""


def trashable(table: str, *, live: bool) -> str:
    return TRASHABLE.format(table=table, live=int(live))


def of_state(statement: str, *, live: bool) -> str:
    return statement.format(live=int(live))


def count(table: str) -> str:
    return f"select count(*) from {table}"


def drop_index(name: str) -> str:
    return f"drop index {name}"


def insert(table: str, columns: Iterable[str]) -> str:
    names = list(columns)
    return f"insert into {table} ({', '.join(names)}) values ({', '.join(f':{name}' for name in names)})"


def select(table: str) -> str:
    return f"select * from {table}"


COLUMNS = "select name, type, pk from pragma_table_xinfo(?) order by cid"
MAKE_SEAL = "create table backup_seal (key text primary key, value) without rowid"
SET_SEAL = "insert into backup_seal (key, value) values (?, ?)"
GET_SEAL = "select key, value from backup_seal"
IS_SEALED = "select exists (select 1 from sqlite_schema where name = 'backup_seal')"
COUNT_LIVE = "select count(*) from memory where trash is null"
IS_OCCUPIED = """
    select exists (select 1 from memory where trash is null) or exists (select 1 from entity where trash is null)
        or exists (select 1 from segment where trash is null)"""
