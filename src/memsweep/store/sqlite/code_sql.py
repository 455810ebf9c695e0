"""Code files of roots that lie inside each other, and names that differ in case alone: statements. Pure text."""

from __future__ import annotations

KNOWN_IDS = "select uid from memory where uid in (select value from json_each(?)) and trash is null"
# What other roots call these files, where they are live memories of those; in this order each step is a lookup.
KNOWN_ELSEWHERE = """
    select other.path from json_each(:places) as place
    cross join code_root as root on root.id <> :root
      and substr(place.value, 1, length(rtrim(root.path, '/')) + 1) = rtrim(root.path, '/') || '/'
    cross join code_file as other on other.root = root.id
      and other.path = substr(place.value, length(rtrim(root.path, '/')) + 2)
    cross join memory on memory.id = other.memory and memory.trash is null limit 1"""
ANY_CASE = "select exists (select 1 from entity where trash is null and name_key >= char(31) and name_key < ' ')"
NAME_OF = "select name from entity where id = ?"
# By files that are not written now, in the trash or not; and whether a person named it.
_OTHER_FILE = "memory.source = :code and memory.uid not in (select value from json_each(:written))"
CASE_IN_USE = f"""
    select exists (select 1 from mention join chunk on chunk.id = mention.chunk
                   join memory on memory.id = chunk.memory where mention.entity = :id and {_OTHER_FILE})
        or exists (select 1 from relation join relation_source on relation_source.relation = relation.id
                   join memory on memory.id = relation_source.memory
                   where (relation.subject = :id or relation.object = :id) and {_OTHER_FILE}),
        (select handed_in or pinned from entity where id = :id)"""
RENAME_ENTITY = "update entity set name = ?, version = version + 1 where id = ?"
