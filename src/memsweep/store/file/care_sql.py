"""Statements of the doctor, of compact, backup and restore. Pure text; values are always bound.

A check finds nothing in a whole file; its first column names what it found. Where a cure changes what a
check finds, both are made from the same condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from memsweep.store.file import rows_sql
from memsweep.store.things.every import COLUMNS
from memsweep.store.things.every import TABLES as EVERY

if TYPE_CHECKING:
    from memsweep.store.file.shape import Table


def without(table: str, key: str) -> str:
    return f"not exists (select 1 from {table} where {table}.id = {key})"


class Dangling(NamedTuple):
    """Rows that say nothing without a row that is not there; or others that mean nothing."""

    table: str
    sample: str
    means_nothing: str = ""

    @property
    def condition(self) -> str:
        ends = EVERY[self.table].references.items()
        return self.means_nothing or " or ".join(without(of, f"{self.table}.{column}") for column, of in ends)

    @property
    def find(self) -> str:
        return f"select {self.sample} from {self.table} where {self.condition}"

    @property
    def drop(self) -> str:
        return f"delete from {self.table} where {self.condition}"


# A memory that supersedes itself, or what supersedes it, would never be found again.
_IS_CIRCLE = """
    new <= old and exists (select 1 from supersession as back
                           where back.old = supersession.new and back.new = supersession.old)"""
DANGLING = {
    "mention_without_end": Dangling("mention", "format('chunk %d and entity %d', chunk, entity)"),
    "relation_without_end": Dangling("relation", "uid"),
    "source_without_end": Dangling("relation_source", "format('relation %d and memory %d', relation, memory)"),
    "supersession_without_end": Dangling("supersession", "format('memory %d by %d', old, new)"),
    "supersession_in_a_circle": Dangling("supersession", "format('memory %d by %d', old, new)", _IS_CIRCLE),
    "alias_without_entity": Dangling("alias", "name"),
    "move_without_receipt": Dangling("merge_move", "format('%s of receipt %d', kind, receipt)"),
    "revision_without_receipt": Dangling("revision", "format('%s %d', kind, item)"),
    "contribution_without_relation": Dangling("contribution", "format('relation %d', relation)"),
    "act_without_memory": Dangling("memory_act", "format('memory %d', memory)"),
    "tag_without_memory": Dangling("memory_tag", "tag"),
    "file_without_memory": Dangling("code_file", "path"),
    "skip_without_root": Dangling("code_skip", "path"),
    "scope_without_root": Dangling("code_scope", "filters"),
    "item_without_plan": Dangling("plan_item", "format('item %d of plan %d', position, plan)"),
    "link_without_segment": Dangling("segment_link", "target"),
    "vector_without_chunk": Dangling("vector", "format('chunk %d', chunk)"),
}


_DIMENSION = "(select value ->> 'dimension' from meta where key = 'model')"
_TAGS_ARE_A_LIST = "case when json_valid(memory.tags) then json_type(memory.tags) end is 'array'"
_TAGS_SAID = f"""
    select memory.id as memory, cast(said.value as text) as tag
    from memory, json_each(case when {_TAGS_ARE_A_LIST} then memory.tags else '[]' end) as said"""
_TAGS_KEPT = f"""
    select memory.id as memory, tag from memory_tag join memory on memory.id = memory_tag.memory
    where {_TAGS_ARE_A_LIST}"""
_TAGS_MISSING = f"{_TAGS_SAID} except {_TAGS_KEPT}"
_TAGS_TOO_MANY = f"{_TAGS_KEPT} except {_TAGS_SAID}"
# A mention is in the trash with one of its ends, and only then.
_MENTION_OUT_OF_STEP = """
    case when chunk.trash is null and entity.trash is null then mention.trash is not null
         else mention.trash is null or not (mention.trash is chunk.trash or mention.trash is entity.trash) end"""
_GAPS = """
    select memory from chunk group by memory
    having min(position) <> 0 or max(position) <> count(*) - 1 or count(distinct position) <> count(*)"""
_CROWDED_STREAMS = """
    select stream from chunk where stream is not null group by stream
    having count(distinct stream_position) <> count(*)"""
_TRASH_NUMBERS = " union ".join(
    f"select trash as number from {it.table} where trash is not null"
    for it in EVERY.values()
    if it.bins and not it.is_link
)
_LOST_RECEIPTS = f"""
    select number from ({_TRASH_NUMBERS} union select trash from mention where trash is not null
                        union select stash from segment where stash is not null
                        union select receipt from plan where receipt is not null)
    where {without("receipt", "number")}"""
_IS_NOTE_WITH_FILE = "source <> 'code_indexer' and exists (select 1 from code_file where code_file.memory = memory.id)"
_IS_CODE_WITHOUT_FILE = """
    source = 'code_indexer' and stale = 0 and trash is null
    and not exists (select 1 from code_file where code_file.memory = memory.id)"""
# Roots may lie inside each other, and each has its own name for a file then.
_FILES_ON_DISK = """
    select memory.id, memory.uid, memory.stale, code_file.read_at_ns,
           coalesce(rtrim(code_root.path, '/'), code_file.root) || '/' || code_file.path as place
    from code_file join memory on memory.id = code_file.memory and memory.trash is null
    left join code_root on code_root.id = code_file.root"""
_IS_CHUNKLESS = "trash is null and not exists (select 1 from chunk where chunk.memory = memory.id)"
_HAS_TEXT = "trim(text, char(9, 10, 11, 12, 13, 32)) <> ''"
_NAMES_NO_CHUNK = f"exists (select 1 from json_each(name_seen.chunks) as seen where {without('chunk', 'seen.value')})"
_PLAN_IS_GONE = "plan is not null and not exists (select 1 from plan where plan.uid = receipt.plan)"
_COUNTS = """
    (select coalesce(sum(tokens) filter (where stash is null), 0), count(*) filter (where stash is null),
            count(*) filter (where stash is not null)
     from segment where segment.project = project.id and trash is null)"""
_IS_MISCOUNTED = f"(tokens, segments, stashed) is not {_COUNTS}"
# The next segment would stand where one stands already, and adding would fail for ever.
_LAST_PLACE = "(select max(place) from segment where segment.project = project.id)"
_IS_BEHIND = f"places <= coalesce({_LAST_PLACE}, -1)"
# A segment whose turn was damaged has the first one, and small steps would never come round to it.
_IS_AHEAD = """
    exists (select 1 from segment where segment.project = project.id and stash is null and trash is null
              and turn < iif(generation = 'young', next_young, next_old))"""
_IS_VALID = "trash is null and invalid_at is null"
# A relation that nobody gave explicitly stands as long as a live memory states it.
_LAST_HOLDER = """
    (select max(memory.trash) from relation_source join memory on memory.id = relation_source.memory
     where relation_source.relation = relation.id)"""
_ONLY_TRASH_STATES_IT = f"""
    relation.trash is null and handed_in = 0 and {_LAST_HOLDER} is not null
    and not exists (select 1 from relation_source join memory on memory.id = relation_source.memory
                    where relation_source.relation = relation.id and memory.trash is null)"""
# What an index has found and a purge has left behind; an import brings such relations without who stated them.
_NOBODY_STATES_IT = """
    relation.trash is null and handed_in = 0 and relation_key in ('defines', 'calls', 'imports', 'inherits')
    and not exists (select 1 from relation_source where relation_source.relation = relation.id)
    and exists (select 1 from receipt where purged_at is not null)
    and not exists (select 1 from audit where action glob 'import_*')"""

# Everything that says where it came from; 0 is an entity that several have handed in.
_NUMBERS = " union ".join(
    [f"select origin as number from {table}" for table, columns in COLUMNS.items() if "origin" in columns]
    + ["select said.value from supersession, json_each(origins) as basis, json_each(basis.value) as said"]
)
_MISSING_ORIGINS = f"select number from ({_NUMBERS}) where number > 0 and {without('origin', 'number')}"


CHECKS = {name: dangling.find for name, dangling in DANGLING.items()} | {
    "chunk_without_memory": f"select uid from chunk where trash is null and {without('memory', 'chunk.memory')}",
    "chunk_out_of_step": """
        select chunk.uid from chunk join memory on memory.id = chunk.memory where chunk.trash is not memory.trash""",
    "memory_without_chunks": f"select uid from memory where {_IS_CHUNKLESS} and {_HAS_TEXT}",
    "memory_without_text": f"select uid from memory where {_IS_CHUNKLESS} and not {_HAS_TEXT}",
    "position_gap": f"""
        select coalesce(memory.uid, format('memory %d', gap.memory)) from ({_GAPS}) as gap
        left join memory on memory.id = gap.memory""",
    "place_twice": f"select format('stream %d', stream) from ({_CROWDED_STREAMS})",
    "origin_missing": f"select format('origin %d', number) from ({_MISSING_ORIGINS})",
    "thread_missing": f"select uid from memory where thread is not null and {without('thread', 'memory.thread')}",
    "tags_differ": f"""
        select uid from memory where id in (select memory from ({_TAGS_MISSING}))
           or id in (select memory from ({_TAGS_TOO_MANY}))""",
    "chunk_without_vector": """
        select uid from chunk where not exists (select 1 from vector where vector.chunk = chunk.id)""",
    "vector_misfit": f"""
        select chunk.uid from vector join chunk on chunk.id = vector.chunk where length(data) <> {_DIMENSION}""",
    "model_unknown": f"select 'no model' where {_DIMENSION} is null and exists (select 1 from vector)",
    "chunk_without_words": """
        select uid from chunk where trash is null
          and not exists (select 1 from chunk_fts_docsize where chunk_fts_docsize.id = chunk.id)""",
    "words_without_chunk": """
        select coalesce(chunk.uid, format('chunk %d', words.id)) from chunk_fts_docsize as words
        left join chunk on chunk.id = words.id where chunk.id is null or chunk.trash is not null""",
    "mention_out_of_step": f"""
        select format('%s and %s', chunk.uid, entity.uid) from mention
        join chunk on chunk.id = mention.chunk join entity on entity.id = mention.entity
        where {_MENTION_OUT_OF_STEP}""",
    "relation_of_trash": """
        select relation.uid from relation where trash is null and exists
            (select 1 from entity where entity.id in (subject, object) and entity.trash is not null)""",
    "entity_twice": """
        select min(uid) from entity where trash is null group by name_key, type_key having count(*) > 1""",
    "relation_only_in_trash": f"select uid from relation where {_ONLY_TRASH_STATES_IT}",
    "relation_of_nobody": f"select uid from relation where {_NOBODY_STATES_IT}",
    # What the index of code finds has types of its own: a function and a call of it are two.
    "name_twice": """
        select format('%s: %s (%s), %s (%s)', plain.name, plain.uid, plain.type, other.uid, other.type)
        from entity as plain join entity as other on other.name_key = plain.name_key and other.type_key <> 'concept'
          and other.trash is null and other.handed_in
        where plain.type_key = 'concept' and plain.trash is null and plain.handed_in group by plain.id""",
    "relation_twice": f"""
        select min(uid) from relation where {_IS_VALID} group by subject, relation_key, object having count(*) > 1""",
    "name_of_no_chunk": f"select name from name_seen where {_NAMES_NO_CHUNK}",
    "note_with_file": f"select uid from memory where {_IS_NOTE_WITH_FILE}",
    "code_without_file": f"select uid from memory where {_IS_CODE_WITHOUT_FILE}",
    "file_twice": f"select min(uid) from ({_FILES_ON_DISK}) group by place having count(*) > 1",
    "root_missing": f"select path from code_file where {without('code_root', 'code_file.root')}",
    "scope_missing": f"""
        select path from code_file where scope is not null and {without("code_scope", "code_file.scope")}""",
    "project_missing": f"select uid from segment where {without('project', 'segment.project')}",
    "project_miscounted": f"select uid from project where {_IS_MISCOUNTED}",
    "project_behind": f"select uid from project where {_IS_BEHIND}",
    "project_ahead": f"select uid from project where {_IS_AHEAD}",
    "receipt_missing": f"select format('receipt %d', number) from ({_LOST_RECEIPTS})",
    "purged_but_there": f"""
        select uid from receipt where purged_at is not null and id in (select number from ({_TRASH_NUMBERS}))""",
    "plan_of_receipt_missing": f"select uid from receipt where {_PLAN_IS_GONE}",
}


def sampled(check: str) -> str:
    """A few of the rows that a check finds, each with the number of all of them."""
    return f"with found (sample) as ({check}) select cast(sample as blob), count(*) over () from found limit ?"


# Equal things become the oldest of them. The lists are of keys; the statements after them go by those alone.
_LIST_ENTITIES = """
    create temp table if not exists duplicate (old integer primary key, kept integer not null);
    delete from temp.duplicate;
    insert into temp.duplicate select id, first from
        (select id, min(id) over (partition by name_key, type_key) as first from entity where trash is null)
    where id <> first"""
_LIST_RELATIONS = f"""
    delete from temp.duplicate;
    insert into temp.duplicate select id, first from
        (select id, min(id) over (partition by subject, relation_key, object) as first
         from relation where {_IS_VALID})
    where id <> first"""


_LIST_DOUBLES = f"""
    create temp table if not exists duplicate (old integer primary key, kept integer not null);
    delete from temp.duplicate;
    insert into temp.duplicate select id, first from
        (select id, first_value(id) over (partition by place order by stale, read_at_ns desc, id) as first
         from ({_FILES_ON_DISK}))
    where id <> first"""
_OLD_ONES = "(select old from temp.duplicate)"
_JOINED = "(select max(id) from receipt where exists (select 1 from temp.duplicate))"


def _united(table: str, columns: tuple[str, ...]) -> str:
    """The kept rows take the highest value of each column from those that go."""
    values = ", ".join(
        f"{column} = (select max(other.{column}) from {table} as other where other.id = {table}.id"
        f" or other.id in (select old from temp.duplicate where kept = {table}.id))"
        for column in columns
    )
    return f"update {table} set {values}, version = version + 1 where id in (select kept from temp.duplicate)"


CURES: dict[str, tuple[str, ...]] = {
    "duplicates": (
        "drop index if exists entity_by_name",  # made again by the structure
        "drop index if exists relation_by_ends",
        _LIST_ENTITIES,
        _united("entity", ("pinned", "handed_in", "last_seen")),
        """insert into mention (chunk, entity, trash)
           select chunk, kept, trash from mention join temp.duplicate on duplicate.old = mention.entity
           where true on conflict (chunk, entity) do nothing""",
        "delete from mention where entity in (select old from temp.duplicate)",
        "update relation set subject = (select kept from temp.duplicate where old = subject)"
        " where subject in (select old from temp.duplicate)",
        "update relation set object = (select kept from temp.duplicate where old = object)"
        " where object in (select old from temp.duplicate)",
        "delete from entity where id in (select old from temp.duplicate)",
        _LIST_RELATIONS,
        _united("relation", ("weight", "evidence", "handed_in", "last_seen")),
        """insert into relation_source (relation, memory)
           select kept, memory from relation_source join temp.duplicate on duplicate.old = relation_source.relation
           where true on conflict do nothing""",
        "delete from relation_source where relation in (select old from temp.duplicate)",
        "delete from relation where id in (select old from temp.duplicate)",
    ),
    "structure": (),
    "indexes": ("reindex",),
    "trash": (
        """update chunk set trash = memory.trash from memory
           where memory.id = chunk.memory and chunk.trash is not memory.trash""",
        f"""update mention set trash = coalesce(chunk.trash, entity.trash) from chunk, entity
            where chunk.id = mention.chunk and entity.id = mention.entity and {_MENTION_OUT_OF_STEP}""",
        """update relation set trash = entity.trash from entity
           where entity.id in (relation.subject, relation.object) and relation.trash is null
             and entity.trash is not null""",
        f"update relation set trash = {_LAST_HOLDER} where {_ONLY_TRASH_STATES_IT}",
    ),
    "edges": (
        f"delete from relation where {_NOBODY_STATES_IT}",
        *(dangling.drop for name, dangling in DANGLING.items() if name != "vector_without_chunk"),
        f"""update name_seen set chunks = (select json_group_array(seen.value) from json_each(name_seen.chunks) as seen
                                           join chunk on chunk.id = seen.value) where {_NAMES_NO_CHUNK}""",
    ),
    "tags": (
        f"insert into memory_tag (tag, memory) select tag, memory from ({_TAGS_MISSING})",
        f"delete from memory_tag where (tag, memory) in (select tag, memory from ({_TAGS_TOO_MANY}))",
    ),
    "places": (
        f"""update chunk set position = counted.place from
                (select id, row_number() over (partition by memory order by position, id) - 1 as place
                 from chunk where memory in ({_GAPS})) as counted
            where counted.id = chunk.id""",
        f"""update chunk set stream_position = counted.place from
                (select id, row_number() over (partition by stream order by stream_position, position, id) - 1 as place
                 from chunk where stream in ({_CROWDED_STREAMS})) as counted
            where counted.id = chunk.id""",
    ),
    "lost": (
        # As little trusted as can be, and still one that can be taken back.
        f"""insert into origin (id, door, client, client_version, session, tool, tier)
            select number, '', '', '', format('lost %d', number), '', 'import' from ({_MISSING_ORIGINS})""",
        f"""insert into thread (id, uid) select distinct thread, format('lost thread %d', thread) from memory
            where thread is not null and {without("thread", "memory.thread")}""",
        f"""update memory set stale = 1, version = version + 1 where trash is null and stale = 0 and id in
                (select memory from code_file where {without("code_root", "code_file.root")})""",
        f"""insert into code_root (id, path) select distinct root, format('/lost folder %d', root) from code_file
            where {without("code_root", "code_file.root")}""",
        f"""insert into project (id, uid, created_at) select distinct project, format('lost-%d', project), :now
            from segment where {without("project", "segment.project")}""",
        f"update project set (tokens, segments, stashed) = {_COUNTS} where {_IS_MISCOUNTED}",
        f"update project set places = {_LAST_PLACE} + 1 where {_IS_BEHIND}",
        f"update project set next_young = 0, next_old = 0 where {_IS_AHEAD}",
        f"update code_file set scope = null where scope is not null and {without('code_scope', 'code_file.scope')}",
        f"""insert into receipt (id, uid, action, strategy, actor, created_at)
            select number, format('rcpt_lost%d', number), 'lost', 'lost', :actor, :now from ({_LOST_RECEIPTS})""",
        f"""update receipt set purged_at = null
            where purged_at is not null and id in (select number from ({_TRASH_NUMBERS}))""",
        f"update receipt set plan = null where {_PLAN_IS_GONE}",
    ),
    "code": (
        f"update memory set source = 'code_indexer', version = version + 1 where {_IS_NOTE_WITH_FILE}",
        f"update memory set stale = 1, version = version + 1 where {_IS_CODE_WITHOUT_FILE}",
    ),
    # The one that was read last stays, with the pins and tags of all; the others go to the trash.
    "doubles": (
        _LIST_DOUBLES,
        """update memory set version = version + 1,
               pinned = (select max(other.pinned) from memory as other where other.id = memory.id
                         or other.id in (select old from temp.duplicate where kept = memory.id)),
               tags = (select json_group_array(tag) from (
                           select distinct each.value as tag from memory as other, json_each(other.tags) as each
                           where other.id = memory.id
                              or other.id in (select old from temp.duplicate where kept = memory.id)))
           where id in (select kept from temp.duplicate)""",
        """insert into memory_tag (tag, memory)
           select tag, kept from memory_tag join temp.duplicate on duplicate.old = memory_tag.memory
           where true on conflict do nothing""",
        """insert into receipt (uid, action, strategy, actor, created_at, counts)
           select format('rcpt_doubles%d', coalesce((select max(id) from receipt), 0) + 1), 'repair', 'doubles', :actor,
                  :now, json_object('memories', count(*), 'chunks', (select count(*) from chunk where trash is null
                                    and memory in (select old from temp.duplicate)), 'entities', 0, 'relations', 0)
           from temp.duplicate having count(*) > 0""",
        # A root that had one of its own lists the file still.
        """insert into code_skip (root, path, language, stamp, digest, read_at_ns)
           select mine.root, mine.path, mine.language, '0:0', 'listed', 0 from temp.duplicate
           join code_file as mine on mine.memory = duplicate.old join code_file as kept on kept.memory = duplicate.kept
           join memory on memory.id = duplicate.old and memory.stale = 0
           where mine.root <> kept.root on conflict (root, path) do nothing""",
        f"""update mention set trash = {_JOINED}
            where trash is null and chunk in (select id from chunk where memory in {_OLD_ONES})""",
        f"update chunk set trash = {_JOINED} where trash is null and memory in {_OLD_ONES}",
        f"update memory set trash = {_JOINED} where id in {_OLD_ONES}",
        f"""update relation set trash = {_JOINED} where trash is null and handed_in = 0
              and id in (select relation from relation_source where memory in {_OLD_ONES})
              and not exists (select 1 from relation_source join memory on memory.id = relation_source.memory
                              and memory.trash is null where relation_source.relation = relation.id)""",
    ),
    "chunks": (),
    "plans": (),
    "values": (),
    "texts": (),
    "losses": (),
    "vectors": (DANGLING["vector_without_chunk"].drop,),
    "words": (),
    "vector_files": (),
}

# what takes more than a statement
NEXT_GENERATION = """
    insert into meta (key, value) values ('vector_generation', 1)
    on conflict (key) do update set value = coalesce(value, 0) + 1"""
TEXTS = """
    select uid, cast(text as blob), content_hash from memory
    union all
    select chunk.uid, cast(chunk.text as blob), chunk.hash from chunk join memory on memory.id = chunk.memory
    where source <> 'code_indexer' and not exists (select 1 from code_file where code_file.memory = memory.id)"""
UNUSED_PLANS = "select id, uid, digest from plan where receipt is null order by id"
DROP_PLAN = ("delete from plan_item where plan = ?", "delete from plan where id = ?")

# structure
STRUCTURE = """
    select type, name, tbl_name, sql from sqlite_schema
    where name not like 'sqlite\\_%' escape '\\' and name <> 'vector_stage' order by type, name"""


def compare_words(table: str) -> str:
    return f"insert into {table} ({table}, rank) values ('integrity-check', 1)"


def rebuild_words(table: str) -> str:
    return f"insert into {table} ({table}) values ('rebuild')"


def optimise_words(table: str) -> str:
    return f"insert into {table} ({table}) values ('optimize')"


def drop_thing(kind: str, name: str) -> str:
    return f"drop {kind} if exists {_quoted(name)}"


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


SETUP = "pragma query_only=on; pragma cell_size_check=on; pragma mmap_size=0; pragma trusted_schema=off"
SCHEMA = "select type, name, tbl_name, sql from sqlite_schema"
CHECK_PAGES = "pragma quick_check(1)"

# of a file that the migrations have just made
TABLES = """
    select name from pragma_table_list
    where schema = 'main' and type = ? and name not like 'sqlite\\_schema' escape '\\' order by name"""

# What may be there beside the schema of a version.
BESIDE = (rows_sql.MAKE_SEAL, rows_sql.MAKE_MARKS, rows_sql.MAKE_STAGE)
# The unique indexes that a copy of a graph leaves out if rows are there twice, for the doctor to unite them.
MAY_BE_MISSING = frozenset(("index", name) for name in rows_sql.UNIQUE_INDEXES)
# What the first migration said before it was settled: files of that time have version 1 as well.
EARLIER = (
    ("uid text not null,\n        memory integer", "uid text not null unique,\n        memory integer"),
    ("(project, generation, turn)\n        where stash", "(project, turn) where stash"),
)

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


_ITEMS = ("memory", "entity")
_ROWS = {"insert": ("new",), "update": ("old", "new"), "delete": ("old",)}
_NOTE = "insert or ignore into noticed select"


def _trigger(table: str, event: str, noted: str) -> str:
    when = f" when {_differs(table)}" if event == "update" else ""
    return f"create temp trigger noticed_{table}_{event} before {event} on main.{table}{when} begin {noted} end;"


def _differs(table: str) -> str:
    """A statement may set what is there already."""
    was, will_be = (", ".join(f"{row}.{name}" for name in COLUMNS[table]) for row in ("old", "new"))
    return f"({was}) is not ({will_be})"


def _of_item(table: str, event: str) -> str:
    noted = (f"{_NOTE} {row}.uid where typeof({row}.uid) = 'text';" for row in _ROWS[event])
    return _trigger(table, event, " ".join(noted))


def _of_chunk(event: str) -> str:
    """A chunk is a part of its memory."""
    owner = "uid from main.memory where typeof(uid) = 'text' and id ="
    return _trigger("chunk", event, " ".join(f"{_NOTE} {owner} {row}.memory;" for row in _ROWS[event]))


BEGIN = "\n".join(
    (
        "create temp table noticed (uid text primary key) without rowid;",
        *(_of_item(table, event) for table in _ITEMS for event in _ROWS),
        *(_of_chunk(event) for event in _ROWS),
    )
)
NOTICED = "select cast(uid as blob) from temp.noticed order by uid"
END = "\n".join(
    (
        *(f"drop trigger temp.noticed_{table}_{event};" for table in (*_ITEMS, "chunk") for event in _ROWS),
        "drop table temp.noticed;",
    )
)


TABLE_NAMES = "select name from sqlite_schema where type = 'table'"
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
