"""Copies and their seals: statements. Pure text; values are always bound."""

from __future__ import annotations

COLUMNS = "select name, type, pk from pragma_table_xinfo(?) order by cid"
MAKE_SEAL = "create table backup_seal (key text primary key, value) without rowid"
SET_SEAL = "insert into backup_seal (key, value) values (?, ?)"
GET_SEAL = "select key, value from backup_seal"
IS_SEALED = "select exists (select 1 from sqlite_schema where name = 'backup_seal')"
COUNT_LIVE = "select count(*) from memory where trash is null"
IS_OCCUPIED = """
    select exists (select 1 from memory where trash is null) or exists (select 1 from entity where trash is null)
        or exists (select 1 from segment where trash is null)"""
