"""What made facts what they are: statements. Pure text; values are always bound, sets of keys are JSON lists."""

from __future__ import annotations

FACT = "weight, last_seen, evidence, handed_in, created_at, valid_at, invalid_at"
ADD = """
    insert into contribution (relation, act, at, rate, value, explicit, valid_at, origin, memory, before, after)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
# Of a fact that nobody has contributed to since they are kept, the first one that does says what it was before.
ADD_IF_ANY = """
    insert into contribution (relation, act, at, rate, value, explicit, valid_at, origin, memory, before, after)
    select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 where exists (select 1 from contribution where relation = ?1)"""
SET_FACT = """
    update relation set weight = ?, last_seen = ?, evidence = ?, handed_in = ?, created_at = ?, valid_at = ?,
                        invalid_at = ?, version = ?
    where id = ?"""
SET_STRENGTH = """
    update relation set weight = ?, last_seen = ?, evidence = ?, handed_in = ?, version = version + 1 where id = ?"""
_ACT = """
    select relation, act, at, rate, value, explicit, valid_at, origin, memory, before, after, id, trash
    from contribution"""
JOURNAL = f"{_ACT} where relation in (select value from json_each(?)) order by id"
# Those of some origins, or of all.
ACTS = f"""{_ACT}
    where trash is null and (:origins is null or origin in (select value from json_each(:origins))) order by id"""
STATES = f"""
    select id, version, {FACT} from relation
    where (trash is null or :trashed) and id in (select value from json_each(:keys))"""
TAKE_BACK = "update contribution set trash = ? where id in (select value from json_each(?))"
TAKEN_BACK = "select distinct relation from contribution where trash = ?"
GIVE_BACK = "update contribution set trash = null where trash = ?"

RELEASE_FACT = "update relation set released_at = ?, version = version + 1 where id = ?"
RELEASE = "update memory set released_at = ?, version = version + 1 where id = ?"

# what origins brought; of all where none are named
_OF = "(:origins is null or origin in (select value from json_each(:origins)))"
ORIGINS = "select id, door, client, client_version, session, tool, tier from origin"
MEMORIES = f"select id, source, created_at from live_memory where {_OF}"
RELATIONS = f"select id, created_at from live_relation where {_OF}"
ENTITIES = f"select id, created_at from live_entity where {_OF}"
SEGMENTS = f"select id, project, created_at from segment where trash is null and pinned = 0 and {_OF}"
