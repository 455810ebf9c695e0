"""The knowledge graph's statements. Pure text; values are always bound."""

from __future__ import annotations

from memsweep.store.words import INSIDE

FIELDS = "origin.door, origin.client, origin.client_version, origin.session, origin.tool, origin.tier"


# As `memsweep.model.contribution.stands_alone` has it.
BY_ITSELF = """
    (relation.handed_in and relation.evidence > (
        select count(*) from relation_source join memory on memory.id = relation_source.memory
        where relation_source.relation = relation.id and memory.source <> 'code_indexer'))"""
_NOT_OF_CODE = "relation.relation_key not in ('calls', 'defines', 'imports', 'inherits')"  # as the index has it
ANY_EXPLICIT = f"""
    select exists (select 1 from entity where handed_in = 1 and trash is null)
        or exists (select 1 from relation where trash is null and {_NOT_OF_CODE})"""
_BEGINS = "{0} >= wanted.value and {0} < wanted.value || char(1114111)"
_BY_A_WORD_INSIDE = " union ".join(
    f"select entity.id from json_each(:names_begin) as wanted cross join entity on {_BEGINS.format(text)}"
    f" where entity.handed_in = 1 and entity.trash is null and {text} <> ''"
    for text in INSIDE.values()
)
_LIVE_SOURCES = """
    select 1 from relation_source join memory on memory.id = relation_source.memory and memory.trash is null
    where relation_source.relation = relation.id"""
# What live memories say, all of which have expired, and nobody by itself.
_ONLY_EXPIRED = f"""
    exists ({_LIVE_SOURCES}) and not {BY_ITSELF}
    and not exists ({_LIVE_SOURCES} and coalesce(memory.expires_at > :expired_by, true))"""
# What only files of code say is found as code. Every join is a cross join: that is the order in which they are done.
STATEMENTS_ABOUT = f"""
    with named (entity) as (
        select live_entity.id from json_each(:names) as wanted
        cross join live_entity on live_entity.name_key = wanted.value
        union
        select entity.id from json_each(:names_begin) as wanted cross join entity on {_BEGINS.format("entity.name_key")}
        where entity.handed_in = 1 and entity.trash is null
        union {_BY_A_WORD_INSIDE}
        union
        select alias.entity from json_each(:names) as wanted cross join alias on alias.name_key = wanted.value),
    touching (id, via) as (
        select live_relation.id, named.entity from named
        cross join live_relation on live_relation.subject = named.entity
        union
        select live_relation.id, named.entity from named
        cross join live_relation on live_relation.object = named.entity
        union
        select relation.id, 0 from json_each(:relations_begin) as wanted
        cross join relation on {_BEGINS.format("relation.relation")}
        where relation.trash is null and {_NOT_OF_CODE})
    select relation.uid, subject.name, relation.relation, object.name, relation.created_at, relation.last_seen,
           relation.valid_at, relation.invalid_at, {FIELDS}
    from (select id, count(*) as parts from touching group by id) as found join relation on relation.id = found.id
    join live_entity as subject on subject.id = relation.subject
    join live_entity as object on object.id = relation.object
    left join origin on origin.id = relation.origin
    where (:ended or relation.invalid_at is null) and (relation.handed_in or exists (
        select 1 from relation_source join memory on memory.id = relation_source.memory
        where relation_source.relation = relation.id and memory.trash is null and memory.source <> 'code_indexer'))
      and (:expired_by is null or not ({_ONLY_EXPIRED}))
    order by found.parts desc, relation.created_at desc, subject.name, relation.relation, object.name,
        relation.uid limit :limit"""
