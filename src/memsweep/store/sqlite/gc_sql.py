"""The statements that show the collector's rules what they must see. Pure text; values are always bound."""

from __future__ import annotations

# survey
# As `memsweep.model.memory.last_seen` says.
SEEN = """
    case when stale or code_file.memory is null then last_seen_at
         else max(coalesce(last_seen_at, created_at), coalesce(code_scope.verified_at, code_file.verified_at, 0)) end"""
MEMORIES = f"""
    select memory.id, version, source = 'code_indexer', stale, pinned, created_at, {SEEN}, expires_at, content_hash
    from memory left join code_file on code_file.memory = memory.id
    left join code_scope on code_scope.id = code_file.scope
    where memory.trash is null order by memory.id"""
_KEYS = "(select value from json_each(:keys))"
MEMORIES_OF = MEMORIES.replace("where memory.trash is null", f"where memory.trash is null and memory.id in {_KEYS}")
CHUNK_COUNTS_OF = f"select memory, count(*) from chunk where trash is null and memory in {_KEYS} group by memory"
MENTIONS_OF = f"""
    select distinct chunk.memory, mention.entity from mention
    join chunk on chunk.id = mention.chunk and chunk.trash is null
    join memory on memory.id = chunk.memory and memory.trash is null
    where mention.trash is null and mention.entity in {_KEYS}"""
CHUNK_COUNTS = "select memory, count(*) from chunk where trash is null group by memory"
LONE_CHUNKS = """
    select chunk.id, chunk.memory from chunk left join memory on memory.id = chunk.memory
    where chunk.trash is null and memory.id is null order by chunk.id"""
ENTITIES = """
    select id, version, type_key, pinned, handed_in, created_at, confidence, last_seen from live_entity order by id"""
ENTITY_KEYS = "select id from live_entity order by id"
THESE_ENTITIES = """
    select id, version, type_key, pinned, handed_in, created_at, confidence, last_seen from live_entity
    where id in (select value from json_each(?)) order by id"""
# Whether a live memory states a relation: for many of them a list, for some a look at each.
_STATED = """id in (
    select relation_source.relation from relation_source
    join memory on memory.id = relation_source.memory and memory.trash is null)"""
_STATED_HERE = """exists (
    select 1 from relation_source join memory on memory.id = relation_source.memory and memory.trash is null
    where relation_source.relation = relation.id)"""
RELATIONS = f"""
    select id, version, subject, object, weight, last_seen, invalid_at, {_STATED}
    from relation where trash is null order by id"""
EDGES = "select subject, object from live_relation"
# As `memsweep.model.contribution.stands_alone` has it.
BY_ITSELF = """
    (relation.handed_in and relation.evidence > (
        select count(*) from relation_source join memory on memory.id = relation_source.memory
        where relation_source.relation = relation.id and memory.source <> 'code_indexer'))"""
STANDING_EDGES = f"""
    select subject, object from relation where trash is null and ({BY_ITSELF} or not {_STATED})"""
STATED_EDGES = f"""
    select memory.id, relation.subject, relation.object from relation_source
    join relation on relation.id = relation_source.relation and relation.trash is null and not {BY_ITSELF}
    join memory on memory.id = relation_source.memory and memory.trash is null"""
_TOUCHING = f"(select id from relation where subject in {_KEYS} union select id from relation where object in {_KEYS})"
STATED_AT = f"{STATED_EDGES} where relation.id in {_TOUCHING}"
STANDING_AT = f"{STANDING_EDGES.replace(_STATED, _STATED_HERE)} and id in {_TOUCHING}"
RELATIONS_AT = RELATIONS.replace(_STATED, _STATED_HERE).replace("order by", f"and id in {_TOUCHING} order by")
WITH_ANY_WORD = """
    select distinct memory.id from chunk_fts join chunk on chunk.id = chunk_fts.rowid
    join memory on memory.id = chunk.memory and memory.trash is null
    where chunk_fts match ? and memory.source <> 'code_indexer'"""
IN_PIECES = f"""{WITH_ANY_WORD}
      and exists (select 1 from chunk as other where other.memory = memory.id and other.trash is null
                  and other.position <> chunk.position)"""
MENTIONS = """
    select distinct chunk.memory, mention.entity from mention
    join chunk on chunk.id = mention.chunk and chunk.trash is null
    join memory on memory.id = chunk.memory and memory.trash is null
    where mention.trash is null"""
TEXTS = "select id, text from live_memory where source <> 'code_indexer'"
