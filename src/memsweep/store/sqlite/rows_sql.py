"""Whole tables in and out: statements for copies that cross engines. Pure text; values are always bound."""

from __future__ import annotations

from collections.abc import Iterable

# In this order they can be written; what is derived from them is made afterwards.
TABLES = (
    "meta",
    "thread",
    "memory",
    "memory_tag",
    "chunk",
    "vector",
    "entity",
    "relation",
    "mention",
    "relation_source",
    "alias",
    "merge_move",
    "code_root",
    "code_scope",
    "code_file",
    "code_skip",
    "plan",
    "plan_item",
    "receipt",
    "audit",
    "tombstone",
    "name_seen",
    "project",
    "segment",
    "segment_link",
)
UNIQUE_INDEXES = ("entity_by_name", "relation_by_ends")
REBUILD_WORDS = (
    "insert into chunk_fts (chunk_fts) values ('rebuild')",
    "insert into segment_fts (segment_fts) values ('rebuild')",
)


def drop_index(name: str) -> str:
    return f"drop index {name}"


def insert(table: str, columns: Iterable[str]) -> str:
    names = list(columns)
    return f"insert into {table} ({', '.join(names)}) values ({', '.join(f':{name}' for name in names)})"


def select(table: str) -> str:
    return f"select * from {table}"
