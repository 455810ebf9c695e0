"""Statements that read a file from outside, and what files of earlier days may have. Pure text."""

from __future__ import annotations

from memsweep.store.file import copy_sql, rows_sql
from memsweep.store.file.row_rules import Table

SETUP = "pragma query_only=on; pragma cell_size_check=on; pragma mmap_size=0; pragma trusted_schema=off"
SCHEMA = "select type, name, tbl_name, sql from sqlite_schema"
CHECK_PAGES = "pragma quick_check(1)"

# of a file that the migrations have just made
TABLES = """
    select name from pragma_table_list
    where schema = 'main' and type = ? and name not like 'sqlite\\_schema' escape '\\' order by name"""

# What may be there beside the schema of a version.
BESIDE = (copy_sql.MAKE_SEAL, rows_sql.MAKE_MARKS, rows_sql.MAKE_STAGE)
# The unique indexes that a copy of a graph leaves out if rows are there twice, for the doctor to unite them.
MAY_BE_MISSING = frozenset(("index", name) for name in rows_sql.UNIQUE_INDEXES)
# What the first migration said before it was settled: files of that time have version 1 as well.
EARLIER = (
    ("uid text not null,\n        memory integer", "uid text not null unique,\n        memory integer"),
    ("(project, generation, turn)\n        where stash", "(project, turn) where stash"),
)

SEQUENCES = "select name, seq from sqlite_sequence"
SET_SEQUENCE = "update sqlite_sequence set seq = max(seq, ?2) where name = ?1"
ADD_SEQUENCE = """
    insert into sqlite_sequence (name, seq) select ?1, ?2
    where not exists (select 1 from sqlite_sequence where name = ?1)"""


def rows(table: Table) -> str:
    """Every row of a table, in the order of its key, from the table itself."""
    keys = sorted((column.key, column.name) for column in table.columns if column.key)
    order = ", ".join(f'"{name}"' for _, name in keys) or "rowid"
    return f'select {_names(table)} from "{table.name}" not indexed order by {order}'


def insert(table: Table) -> str:
    return f'insert into "{table.name}" ({_names(table)}) values ({", ".join("?" for _ in table.columns)})'


def _names(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.columns)
