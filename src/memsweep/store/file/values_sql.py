"""Statements that look at every value of a file, and put other ones in the place of those that are damaged. Pure text.

Names of tables and columns are our own; values are always bound.
"""

from __future__ import annotations

from collections.abc import Sequence

TABLES = "select name from sqlite_schema where type = 'table'"
WITHOUT_ROWID = "select name from pragma_table_list where schema = 'main' and wr"
UNIQUE_NAMES = ("entity_by_name", "relation_by_ends")

# whose a row is
_MEMORY = "select uid from memory where id = ?"
_MEMORY_OF_CHUNK = "select uid from memory where id = (select memory from chunk where id = ?)"
OWNERS = {
    "chunk": ("memory", _MEMORY),
    "memory_tag": ("memory", _MEMORY),
    "code_file": ("memory", _MEMORY),
    "relation_source": ("memory", _MEMORY),
    "supersession": ("new", _MEMORY),
    "vector": ("chunk", _MEMORY_OF_CHUNK),
    "mention": ("chunk", _MEMORY_OF_CHUNK),
}

# what a salvaged file must not give out again
COUNTERS = "select name, seq from sqlite_sequence where typeof(seq) = 'integer'"
RAISE_COUNTER = "update sqlite_sequence set seq = max(seq, ?) where name = ?"
HIGHEST = "select seq from sqlite_sequence where name = ?"

# the registry
LIVE_WORKSPACES = "select name, file from workspace where deleted_at is null order by id"
SET_FILE = "update workspace set file = ? where file = ?"

# what is known elsewhere, too
ALL_TEXTS = "select id, text, content_hash from memory"
ALL_PIECES = """
    select chunk.id, chunk.memory, chunk.start, chunk.text, chunk.hash
    from chunk join memory on memory.id = chunk.memory
    where source <> 'code_indexer' and not exists (select 1 from code_file where code_file.memory = memory.id)"""
PARTS = "select start, text from chunk where memory = ? order by position, id"
TEXT_OF = "select text from memory where id = ?"
OWNER_OF_TEXT = """
    select id from memory where substr(text, :start + 1, length(:text)) = :text and trash is :trash
      and (select count(*) from chunk where chunk.memory = memory.id and chunk.start = :start) = 0"""
POSITION_OF = "select count(*) from chunk where memory = ? and id < ?"
TAGS_OF = "select tag from memory_tag where memory = ? order by tag"


def rows_of(table: str, columns: Sequence[str], *, has_key: bool) -> str:
    return f"select {'rowid' if has_key else '0'}, {', '.join(columns)} from {table}"


def exact_rows_of(table: str, columns: Sequence[str], *, has_key: bool, order: str = "", one: bool = False) -> str:
    """Of each column its type and its value, text as bytes; in the order of the keys, or a single row by its key."""
    shown = (f"typeof({name}), iif(typeof({name}) = 'text', cast({name} as blob), {name})" for name in columns)
    rest = " where rowid = ?" if one else f" order by {'rowid' if has_key else '2'} {order}" if order else ""
    return f"select {'rowid' if has_key else '0'}, {', '.join(shown)} from {table}{rest}"


def drop_row(table: str, condition: str) -> str:
    return f"delete from {table} where {condition}"


def set_values(table: str, columns: Sequence[str], condition: str) -> str:
    return f"update {table} set {', '.join(f'{name} = ?' for name in columns)} where {condition}"
