"""Statements on the rows that plans speak of, by keys as one JSON list. Pure text; values are always bound."""

from __future__ import annotations

from memsweep.store.sqlite.gc_sql import BY_ITSELF, SEEN

_KEYS = "(select value from json_each(:keys))"

FIND = """
    select 'memory', memory.id, receipt.uid from memory
    left join receipt on receipt.id = memory.trash where memory.uid = :id
    union all
    select 'entity', entity.id, receipt.uid from entity
    left join receipt on receipt.id = entity.trash where entity.uid = :id"""

# As people know them, in the order of `memsweep.store.ports.items.Described`.
DESCRIBE = {
    "memory": f"""
        select memory.id, memory.uid, substr(memory.text, 1, 80), memory.created_at, length(memory.text),
               code_root.path, code_file.path,
               (select count(*) from chunk where memory = memory.id and chunk.trash is memory.trash)
        from memory left join code_file on code_file.memory = memory.id
        left join code_root on code_root.id = code_file.root where memory.id in {_KEYS}""",
    "chunk": f"select id, uid, substr(text, 1, 80), null, length(text) from chunk where id in {_KEYS}",
    "entity": f"select id, uid, name, created_at, 0, null, null, 0, type from entity where id in {_KEYS}",
}
DESCRIBE_RELATIONS = f"""
    select relation.id, relation.uid, relation, relation.created_at, subject.uid, object.uid, subject.name, object.name
    from relation left join entity as subject on subject.id = subject left join entity as object on object.id = object
    where relation.id in {_KEYS}"""

TEXTS = f"select id, text from memory where trash is null and id in {_KEYS}"
LAST_SEEN = f"""
    select memory.id, coalesce({SEEN}, created_at) from memory left join code_file on code_file.memory = memory.id
    left join code_scope on code_scope.id = code_file.scope where memory.trash is null and memory.id in {_KEYS}"""
LIVE = {
    "memory": f"select id, version, pinned from memory where trash is null and id in {_KEYS}",
    "entity": f"select id, version, pinned from entity where trash is null and id in {_KEYS}",
    "relation": f"select id, version, 0, subject, object from relation where trash is null and id in {_KEYS}",
    "chunk": f"""
        select chunk.id, 0, 0, memory.id from chunk left join memory on memory.id = chunk.memory
        where chunk.trash is null and chunk.id in {_KEYS}""",
}
IDS = {
    kind: f"select id, uid from {kind} where id in {_KEYS}"
    for kind in ("memory", "entity", "relation", "chunk", "segment")
}
COUNT = {kind: f"select count(*) from {kind} where trash is null" for kind in ("memory", "chunk", "entity", "relation")}
CHUNKS_OF = f"select id from chunk where trash is null and memory in {_KEYS}"
STATED_BY = f"""
    select distinct relation.id, {BY_ITSELF} from relation_source
    join relation on relation.id = relation_source.relation and relation.trash is null
    where relation_source.memory in {_KEYS}"""
SOURCES = f"""
    select relation_source.relation, memory.id from relation_source
    join memory on memory.id = relation_source.memory and memory.trash is null
    where relation_source.relation in {_KEYS}"""
MENTIONED_BY = f"""
    select distinct mention.entity, memory.id from mention
    join chunk on chunk.id = mention.chunk and chunk.trash is null
    join memory on memory.id = chunk.memory and memory.trash is null
    where mention.trash is null and mention.entity in {_KEYS}"""
_AT = f"""
    select {{0}} from relation where trash is null and subject in {_KEYS}
    union all
    select {{0}} from relation where trash is null and object in {_KEYS} and subject not in {_KEYS}"""
RELATIONS_AT = _AT.format("id, subject, object")
RELATION_KEYS_AT = _AT.format("id")

PIN = {kind: f"update {kind} set pinned = ?, version = version + 1 where id = ?" for kind in ("memory", "entity")}
