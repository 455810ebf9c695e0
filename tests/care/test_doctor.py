"""The doctor: every damage is found and named, and mended where nothing is lost by it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

import apsw
import pytest

from memsweep.app import App
from memsweep.care.invariants import INVARIANTS
from memsweep.errors import UnknownWorkspace
from memsweep.model.care import Checkup, Finding
from memsweep.model.graph_rows import Mention
from memsweep.model.memory import Workspace
from memsweep.model.text import content_hash
from memsweep.services.memory import Memory
from memsweep.store.file import care_sql, portable
from memsweep.store.things.every import COLUMNS
from tests.care import stores
from tests.support import store_files
from tests.support.engines import ENGINES, on_every_engine
from tests.support.inside import store_of


class Damage(NamedTuple):
    script: str
    found: set[str]
    left: frozenset[str] | set[str] = frozenset()


_A_NOTE = "(select id from memory where source = '' and trash is null and thread is not null limit 1)"
_A_FILE = "(select memory from code_file limit 1)"
_A_CHUNK = f"(select id from chunk where memory = {_A_NOTE})"
_LOSE_CHUNK = (
    f"insert into chunk_fts (chunk_fts, rowid, text) select 'delete', id, text || ' ' from chunk where id = {_A_CHUNK};"
    f"delete from mention where chunk = {_A_CHUNK}; delete from vector where chunk = {_A_CHUNK};"
    f"delete from chunk where id = {_A_CHUNK}"
)
_LONG = "(select id from memory where tags like '%long%')"
_ENTITY = "(select id from entity where name = 'Ada')"
_COPY_ENTITY = """
    insert into entity (uid, name, name_key, type, type_key, pinned, created_at, last_seen)
    select 'ent_twin', 'ADA', name_key, type, type_key, 1, created_at, last_seen + 5 from entity where name = 'Ada'"""
_COPY_RELATION = """
    insert into relation (uid, subject, object, relation, relation_key, weight, created_at, last_seen)
    select 'rel_twin', subject, object, relation, relation_key, 1, created_at, last_seen from relation
    where relation = 'knows'"""

DAMAGES = {
    # full text
    "a chunk that left the full text": Damage(
        f"delete from chunk_fts_docsize where id = {_A_CHUNK}", {"chunk_without_words"}
    ),
    "words of a chunk in the trash": Damage(
        "insert into chunk_fts (rowid, text) select id, text from chunk where trash is not null",
        {"words_without_chunk"},
    ),
    "words that a chunk does not say": Damage(
        f"insert into chunk_fts (chunk_fts, rowid, text) values ('delete', {_A_CHUNK}, 'turn');"
        f"insert into chunk_fts (rowid, text) values ({_A_CHUNK}, 'something else')",
        {"words_differ"},
    ),
    "a damaged block of the full text": Damage(
        "update chunk_fts_data set block = zeroblob(30) where id > 10", {"words_damaged"}
    ),
    "words of a segment that is not there": Damage(
        "insert into segment_fts (rowid, text) values (999, 'ghost')", {"words_differ"}
    ),
    # structure
    "a missing index": Damage("drop index chunk_by_memory", {"structure_changed"}),
    "a missing view": Damage("drop view live_chunk", {"structure_changed"}),
    "a view that shows trash": Damage(
        "drop view live_memory; create view live_memory as select * from memory", {"structure_changed"}
    ),
    "a missing full text": Damage("drop table chunk_fts", {"structure_changed"}),
    "a missing table": Damage("drop table audit", {"table_changed", "writes_lost"}),
    "a column too many": Damage("alter table thread add column mood", {"table_changed"}),
    "a strange table": Damage("create table stranger (x)", {"foreign_structure"}, {"foreign_structure"}),
    "a strange trigger": Damage(
        "create trigger strange after delete on memory begin delete from audit; end",
        {"foreign_structure"},
        {"foreign_structure"},
    ),
    # chunks
    "a memory that is gone": Damage(
        f"delete from memory_tag where memory = {_A_NOTE}; delete from memory where id = {_A_NOTE}",
        {"chunk_without_memory"},
        {"chunk_without_memory"},
    ),
    "a memory in the trash without its chunk": Damage(
        f"update memory set trash = 1 where id = {_A_NOTE}", {"chunk_out_of_step"}
    ),
    "a chunk in the trash without its memory": Damage(
        f"update chunk set trash = 1 where id = {_A_CHUNK}",
        {"chunk_out_of_step", "words_without_chunk", "mention_out_of_step"},
    ),
    "a memory without chunks": Damage(_LOSE_CHUNK, {"memory_without_chunks"}),
    "a memory without text and chunks": Damage(
        f"{_LOSE_CHUNK};update memory set text = ' ', content_hash = x'{content_hash(' ').hex()}' where id = {_A_NOTE}",
        {"memory_without_text"},
        {"memory_without_text"},
    ),
    "a gap between chunks": Damage(
        f"update chunk set position = position + 1 where memory = {_LONG} and position > 0", {"position_gap"}
    ),
    "two chunks in one position": Damage(f"update chunk set position = 0 where memory = {_LONG}", {"position_gap"}),
    "two chunks in one place of a thread": Damage(
        "update chunk set stream_position = 1 where stream > 0 and stream_position < 3", {"place_twice"}
    ),
    "a thread that is gone": Damage("delete from thread", {"thread_missing"}),
    # text
    "a text that changed": Damage(f"update memory set text = text || '!' where id = {_A_NOTE}", {"text_changed"}),
    "a hash that changed": Damage(
        f"update memory set content_hash = zeroblob(16) where id = {_A_NOTE}", {"text_changed"}
    ),
    "a piece that changed": Damage(
        f"update chunk set text = text || ' otter' where id = {_A_CHUNK}", {"text_changed", "words_differ"}
    ),
    "the hash of a piece that changed": Damage(
        f"update chunk set hash = zeroblob(16) where id = {_A_CHUNK}", {"text_changed"}
    ),
    "a text and its piece that changed": Damage(
        f"update memory set text = replace(text, 'turn', 'torn') where id = {_A_NOTE};"
        f"update chunk set text = replace(text, 'turn', 'tern') where id = {_A_CHUNK}",
        {"text_changed", "words_differ"},
        {"text_changed"},
    ),
    "a text that is no text": Damage(
        f"update memory set text = cast(x'ff80' as text) where id = {_A_NOTE}", {"value_damaged"}
    ),
    "a chunk that is no text": Damage(
        f"update chunk set text = cast(x'ff80' as text) where id = {_A_CHUNK}", {"value_damaged"}
    ),
    "a chunk that is no text and has no vector": Damage(
        f"update chunk set text = cast(x'ff80' as text) where id = {_A_CHUNK};"
        f"delete from vector where chunk = {_A_CHUNK}",
        {"value_damaged"},
    ),
    "a tag that is no text": Damage(
        "insert into memory_tag (tag, memory) values (cast(x'ff80' as text), 999)", {"value_damaged"}
    ),
    "metadata that is no JSON": Damage(f"update memory set metadata = '{{' where id = {_A_NOTE}", {"value_damaged"}),
    # tags
    "a tag that a memory does not have": Damage(
        f"insert into memory_tag (tag, memory) values ('wrong', {_A_NOTE})", {"tags_differ"}
    ),
    "a tag that cannot be found": Damage(f"delete from memory_tag where memory = {_A_NOTE}", {"tags_differ"}),
    "tags that are no JSON": Damage(f"update memory set tags = '[oops' where id = {_A_NOTE}", {"value_damaged"}),
    "tags that are no list": Damage(f"update memory set tags = '{{}}' where id = {_A_NOTE}", {"value_damaged"}),
    "another name of no entity": Damage(
        "insert into alias (name_key, type_key, name, entity) values ('x', 'y', 'X', 999)", {"alias_without_entity"}
    ),
    "a move without its merge": Damage(
        "insert into merge_move (receipt, kind, a, said) values (999, 'mention', 1, 'null')", {"move_without_receipt"}
    ),
    "a revision without its receipt": Damage(
        "insert into revision (receipt, kind, item, at, before) values (999, 'memory', 1, 1, '{}')",
        {"revision_without_receipt"},
    ),
    "tags of no memory": Damage("insert into memory_tag (tag, memory) values ('lost', 999)", {"tag_without_memory"}),
    # vectors
    "a chunk without a vector": Damage(f"delete from vector where chunk = {_A_CHUNK}", {"chunk_without_vector"}),
    "a trashed chunk without a vector": Damage(
        "delete from vector where chunk in (select id from chunk where trash is not null)", {"chunk_without_vector"}
    ),
    "a vector of another size": Damage(
        f"update vector set data = x'0102' where chunk = {_A_CHUNK}", {"vector_misfit", "vector_file_differs"}
    ),
    "a vector that differs from its file": Damage(
        f"update vector set data = zeroblob(length(data)) where chunk = {_A_CHUNK}", {"vector_file_differs"}
    ),
    "a vector of no chunk": Damage(
        "insert into vector (chunk, data) values (999, zeroblob(256))", {"vector_without_chunk"}
    ),
    "a model that is not known": Damage("delete from meta where key = 'model'", {"model_unknown"}, {"model_unknown"}),
    # names and facts
    "mentions of nothing": Damage(
        f"insert into mention (chunk, entity) values (999, {_ENTITY}), ({_A_CHUNK}, 999)", {"mention_without_end"}
    ),
    "a mention by a chunk in the trash": Damage(
        "update mention set trash = null where trash is not null", {"mention_out_of_step"}
    ),
    "a mention in the trash between live ends": Damage(
        f"update mention set trash = 1 where entity = {_ENTITY}", {"mention_out_of_step"}
    ),
    "a mention in a trash of its own": Damage(
        "update mention set trash = 77 where trash is not null", {"mention_out_of_step", "receipt_missing"}
    ),
    "a relation to nothing": Damage(
        "update relation set object = 999 where relation = 'knows'", {"relation_without_end"}
    ),
    "a relation to an entity in the trash": Damage(
        "update entity set trash = 1 where name = 'Grace'; update mention set trash = 1 where entity in"
        " (select id from entity where trash = 1) and trash is null",
        {"relation_of_trash"},
    ),
    "a statement of nothing": Damage(
        f"insert into relation_source (relation, memory) values (999, {_A_FILE}), (1, 999)", {"source_without_end"}
    ),
    "a link to no memory": Damage(
        f"insert into supersession (old, new, at) values (999, {_A_FILE}, 1), ({_A_FILE}, 998, 1)",
        {"supersession_without_end"},
    ),
    "a memory that supersedes itself": Damage(
        f"insert into supersession (old, new, at) values ({_A_FILE}, {_A_FILE}, 1)", {"supersession_in_a_circle"}
    ),
    "two memories that supersede each other": Damage(
        "insert into supersession (old, new, at)"
        " select a.id, b.id, 1 from memory as a join memory as b on b.id <> a.id",
        {"supersession_in_a_circle"},
    ),
    "a relation that only trash states": Damage(
        "insert into relation_source (relation, memory)"
        " select relation.id, memory.id from relation, memory where relation = 'knows' and memory.trash is not null;"
        "delete from relation_source where memory in (select id from memory where trash is null)"
        " and relation in (select id from relation where relation = 'knows');"
        "update relation set handed_in = 0 where relation = 'knows'",
        {"relation_only_in_trash"},
    ),
    "a relation that a purge has left": Damage(
        "insert into receipt (uid, action, strategy, actor, created_at, purged_at)"
        " values ('rcpt_old', 'prune', 'all', 'me', 1, 2);"
        "delete from relation_source where relation in (select id from relation where relation = 'CALLS')",
        {"relation_of_nobody"},
    ),
    "an entity twice": Damage(f"drop index entity_by_name; {_COPY_ENTITY}", {"structure_changed", "entity_twice"}),
    "a thing with two types": Damage(
        "insert into entity (uid, name, name_key, type, type_key, handed_in, created_at, last_seen)"
        " values ('ent_plain', 'Ada', 'ada', 'Concept', 'concept', 1, 1, 1),"
        " ('ent_person', 'Ada', 'ada', 'Visitor', 'visitor', 1, 1, 1) on conflict do update set handed_in = 1",
        {"name_twice"},
        {"name_twice"},
    ),
    "a relation twice": Damage(
        f"drop index relation_by_ends; {_COPY_RELATION}", {"structure_changed", "relation_twice"}
    ),
    "a name counted in no chunk": Damage(
        "insert into name_seen (name_key, name, evidence, chunks) values ('x', 'X', 1, '[1,999]')", {"name_of_no_chunk"}
    ),
    # code
    "a file of no memory": Damage(
        f"update code_file set memory = 999 where memory = {_A_FILE}",
        {"file_without_memory", "code_without_file"},
    ),
    "a note with a file": Damage(f"update memory set source = 'me' where id = {_A_FILE}", {"note_with_file"}),
    "code without a file": Damage(f"delete from code_file where memory = {_A_FILE}", {"code_without_file"}),
    "a file twice": Damage("update code_file set path = 'a.py'", {"file_twice"}),
    "files in no folder": Damage(
        "delete from code_root; insert into code_skip values (1, 'x', '', '', '', 0)",
        {"root_missing", "scope_without_root", "skip_without_root"},
    ),
    "files seen by no index": Damage("delete from code_scope", {"scope_missing"}),
    # context windows
    "a window that is gone": Damage("delete from project", {"project_missing"}),
    "a window that counts wrongly": Damage("update project set tokens = tokens + 1", {"project_miscounted"}),
    "a window whose next place is taken": Damage("update project set places = 0", {"project_behind"}),
    "a window that passes segments over": Damage("update project set next_young = 999", {"project_ahead"}),
    "a reference from nowhere": Damage(
        "insert into segment_link (project, target, source) values (1, 's0', 999)", {"link_without_segment"}
    ),
    "a stash without a receipt": Damage(
        "update segment set stash = 55 where uid = 's1'", {"receipt_missing", "project_miscounted"}
    ),
    # origins
    "things from nowhere": Damage("delete from origin", {"origin_missing"}),
    "a contribution to no fact": Damage(
        "insert into contribution (relation, act, at, rate, explicit) values (999, 'end', 1, 1.0, 0)",
        {"contribution_without_relation"},
    ),
    "an act on no memory": Damage(
        "insert into memory_act (memory, act, at, said) values (999, 'say', 1, '{}')", {"act_without_memory"}
    ),
    # plans and receipts
    "items of no plan": Damage(
        "insert into plan_item (plan, position, kind, key, version, reason) values (999, 0, 'memory', 1, 1, 'x')",
        {"item_without_plan"},
    ),
    "a plan that was changed": Damage(
        "insert into plan_item (plan, position, kind, key, version, reason)"
        " select id, 999, 'memory', 1, 1, 'smuggled' from plan where receipt is null",
        {"plan_changed"},
    ),
    "trash without a receipt": Damage("delete from receipt", {"receipt_missing"}),
    "trash of a purged receipt": Damage("update receipt set purged_at = 1", {"purged_but_there"}),
    "a receipt of no plan": Damage(
        "delete from plan where receipt is not null; delete from plan_item where plan not in (select id from plan)",
        {"plan_of_receipt_missing"},
    ),
}


def names(checkup: Checkup) -> set[str]:
    return {finding.invariant for finding in checkup.findings}


def left(checkup: Checkup) -> set[str]:
    return {finding.invariant for finding in checkup.left}


def damage(file: Path, script: str) -> None:
    with store_files.open_file(file) as db:
        db.execute(script)


def test_a_whole_store_is_healthy(filled: Path, app: App) -> None:
    before = stores.dump(filled)
    assert app.memory().care.doctor() == Checkup("default", ())
    assert app.memory().care.doctor(repair=True) == Checkup("default", ())
    assert stores.dump(filled) == before


# What of a damage can be in a graph: an edge has its ends, tags are found where they are said, and the rest is files.
NO_GRAPH_HAS = {
    "writes_lost",
    "structure_changed",
    "table_changed",
    "foreign_structure",
    "words_damaged",
    "chunk_without_words",
    "words_without_chunk",
    "words_differ",
    "tags_differ",
    "tag_without_memory",
    "vector_misfit",
    "vector_file_differs",
    "mention_without_end",
    "mention_out_of_step",
    "relation_without_end",
    "source_without_end",
    "file_without_memory",
    "link_without_segment",
    "supersession_without_end",
}
GRAPH_DAMAGES = {
    case: it.found - NO_GRAPH_HAS
    for case, it in DAMAGES.items()
    if it.found - NO_GRAPH_HAS
    and not case.startswith("tags that are no")  # a graph has a list, damaged in tests/falkor/test_doctor.py
    and "no text" not in case
    and case != "a mention in a trash of its own"
}
CASES = [
    *((("sqlite", case)) for case in DAMAGES),
    *((("falkor", case)) for case in GRAPH_DAMAGES if "falkor" in ENGINES),
]
on_every_case = pytest.mark.parametrize(("engine_kind", "case"), CASES)


def _columns(table: str) -> str:
    """Whatever is in them, texts that are none among it."""
    return ", ".join(f"typeof({table}.{name}) || hex({table}.{name})" for name in COLUMNS[table])


_ITEMS = (
    f"select cast(uid as blob), {_columns('memory')} from memory",
    f"select cast(uid as blob), {_columns('entity')} from entity",
    f"select cast(memory.uid as blob), {_columns('chunk')} from chunk join memory on memory.id = chunk.memory",
)


class Patient:
    """A filled workspace of either engine, damaged as a file; a graph is made of that."""

    def __init__(self, file: Path, app: App, script: str, *, is_graph: bool) -> None:
        self.memory = app.memory()
        damage(file, script)
        if is_graph:
            with store_files.open_file(file) as db:
                as_graph(app, db)

    def texts_and_items(self) -> tuple[set[str], dict[str, str]]:
        """The ids of memories and chunks; memories with their chunks, and entities: what each is, by its id."""
        found: dict[str, list[str]] = {}
        with store_files.into(self.memory) as db:
            texts = {uid for (uid,) in db.execute("select uid from memory union all select uid from chunk")}
            for statement in _ITEMS:
                for uid, *rest in db.execute(statement).fetchall():
                    found.setdefault(repr(uid), []).append(repr(rest))
        return texts, {uid: "\n".join(sorted(parts)) for uid, parts in found.items()}

    def rows(self) -> dict[str, list[str]]:
        with store_files.into(self.memory) as db:
            return {table: sorted(map(repr, rows)) for table, rows in portable.rows_of(db).items()}


def as_graph(app: App, db: apsw.Connection) -> None:
    """The rows in a graph that has the name of the default workspace, whether they fit together or not."""
    from memsweep.store.copy_progress import CopyProgress
    from memsweep.store.falkor import copying
    from memsweep.store.workspaces import row_of

    now = datetime.now(UTC)
    workspace, engine = Workspace("default", "", now), cast(Any, app.engine)
    graph = engine.new_graph(workspace, now)
    copying.load(graph, db, CopyProgress())
    assert engine.change((None, row_of(workspace, graph.name)))


@pytest.fixture
def patient(filled: Path, app: App, engine_kind: str, case: str) -> Patient:
    return Patient(filled, app, DAMAGES[case].script, is_graph=engine_kind == "falkor")


def findable(engine_kind: str, case: str) -> set[str]:
    return DAMAGES[case].found if engine_kind == "sqlite" else GRAPH_DAMAGES[case]


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damage_is_found_and_nothing_changes(filled: Path, app: App, case: str) -> None:
    damage(filled, DAMAGES[case].script)
    before = stores.dump(filled)
    assert names(app.memory().care.doctor()) == DAMAGES[case].found
    assert stores.dump(filled) == before


@pytest.mark.slow
@on_every_case
def test_a_repair_leaves_nothing_for_the_next_doctor_loses_nothing_and_is_in_the_audit_log(
    filled: Path, patient: Patient, engine_kind: str, case: str
) -> None:
    kept, memory = DAMAGES[case].left, patient.memory
    if engine_kind == "falkor":
        is_found_and_nothing_changes(patient, case)
    before, items = patient.texts_and_items()
    first = memory.care.doctor(repair=True)
    assert names(first) >= findable(engine_kind, case)
    assert left(first) == kept
    after, items_after = patient.texts_and_items()
    changed = {own for own in items.keys() | items_after.keys() if items.get(own) != items_after.get(own)}
    names_what_changed(memory, changed, set() if kept else findable(engine_kind, case))
    assert names(memory.care.doctor()) == kept
    made = after - before  # only what had lost its chunks gets new ones
    assert bool(made) == ("memory_without_chunks" in DAMAGES[case].found)
    assert after - made == before
    if not kept:
        assert engine_kind == "falkor" or store_files.problems(store_files.file_of(filled.parents[1])) == []
        assert memory.search("Ada").hits


def is_found_and_nothing_changes(patient: Patient, case: str) -> None:
    before = patient.rows()
    assert names(patient.memory.care.doctor()) == GRAPH_DAMAGES[case]
    assert patient.rows() == before


def names_what_changed(memory: Memory, changed: set[str], kinds: set[str]) -> None:
    """The audit log names a repair and everything that it changed, and nothing else."""
    repairs = [event for event in memory.sweep.audit() if event.action == "repair"]
    assert all(event.actor == "library" for event in repairs)
    assert {kind for event in repairs for kind in event.counts} >= kinds
    named = {own for event in repairs for own in event.ids}
    assert {repr(own.encode()) for own in named} == changed
    told = [event for own in named for event in memory.sweep.explain(own)[2] if event.action == "repair"]
    assert len(told) >= len(named)


def test_every_check_has_a_damage_that_it_finds() -> None:
    found = {name for it in DAMAGES.values() for name in it.found}
    assert set(care_sql.CHECKS) - found == set()


def test_a_damaged_page_is_said_and_the_way_out_named(filled: Path, make: Callable[..., App]) -> None:
    whole = bytearray(filled.read_bytes())
    for at in range(8192, len(whole), 8192):
        whole[at : at + 64] = b"\xff" * 64
    filled.write_bytes(whole)
    checkup = make().memory().care.doctor(repair=True)
    assert "file_damaged" in left(checkup)
    assert left(checkup) <= {"file_damaged", "file_unreadable"}
    assert filled.read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"nothing like it" * 500])
def test_a_file_that_is_none_is_said(filled: Path, app: App, content: bytes) -> None:
    filled.write_bytes(content)
    assert left(app.memory().care.doctor(repair=True)) == {"file_damaged", "file_unreadable"}
    assert filled.read_bytes() == content


def test_an_index_that_lost_an_entry_is_made_again(filled: Path, app: App) -> None:
    """SQLite is told that another table's root is the index's, so the entries of both differ."""
    with store_files.open_file(filled) as db:
        db.execute("create table junk (x); create index junk_by_x on junk (x)")
        db.execute("pragma writable_schema = on")
        (root,) = db.execute("select rootpage from sqlite_schema where name = 'junk_by_x'").fetchone()
        (old,) = db.execute("select rootpage from sqlite_schema where name = 'chunk_by_memory'").fetchone()
        db.execute("update sqlite_schema set rootpage = ? where name = 'chunk_by_memory'", (root,))
        db.execute("update sqlite_schema set rootpage = ? where name = 'junk_by_x'", (old,))
        db.execute("pragma writable_schema = reset")
    checkup = app.memory().care.doctor(repair=True)
    assert "index_damaged" in names(checkup)
    assert left(checkup) == {"foreign_structure"}


def test_merged_twins_keep_what_both_had(filled: Path, app: App) -> None:
    damage(filled, f"drop index entity_by_name; {_COPY_ENTITY}")
    damage(
        filled,
        "insert into mention (chunk, entity) select 1, id from entity where uid = 'ent_twin';"
        "insert into relation (uid, subject, object, relation, relation_key, created_at, last_seen)"
        " select 'rel_new', (select id from entity where uid = 'ent_twin'), id, 'likes', 'likes', 1, 1"
        " from entity where name = 'Grace'",
    )
    assert left(app.memory().care.doctor(repair=True)) == set()
    assert store_files.query(filled, "select name, pinned from entity where name_key = 'ada' and trash is null") == [
        ("Ada", 1)
    ]
    related = store_files.query(
        filled,
        "select relation.relation from relation join entity on entity.id = relation.subject"
        " where entity.name = 'Ada' order by 1",
    )
    assert related == ["knows", "likes"]
    assert store_files.query(filled, f"select chunk from mention where entity = {_ENTITY}")[0] == 1


def test_what_was_trash_without_a_receipt_can_be_undone(filled: Path, app: App) -> None:
    damage(filled, "delete from receipt")
    app.memory().care.doctor(repair=True)
    (item,) = app.memory().sweep.trash()[0][:1]
    assert app.memory().sweep.undo(item.receipt_id).totals.memories == 1
    assert app.memory().care.doctor() == Checkup("default", ())


def test_a_model_that_is_not_at_hand_leaves_the_chunk_and_says_why(filled: Path, app: App) -> None:
    damage(filled, "delete from vector where chunk = 1; update meta set value = replace(value, 'wordllama', 'other')")
    checkup = app.memory().care.doctor(repair=True)
    assert left(checkup) == {"chunk_without_vector"}
    assert any("other" in note for note in checkup.notes)


def test_an_unknown_workspace_is_an_error(app: App, home: Path) -> None:
    with pytest.raises(UnknownWorkspace):
        app.memory("named").care.doctor(repair=True)
    assert app.memory().care.doctor(repair=True).left == (), "nothing is stored yet where nobody named one"
    assert not home.exists()


def test_every_invariant_has_words_and_a_way_out() -> None:
    for name, invariant in INVARIANTS.items():
        assert invariant.one, name
        assert invariant.many, name
        assert invariant.cure or invariant.next_step, name


@on_every_engine
def test_what_an_undone_merge_has_kept_of_a_text_is_found_and_given_back(memory: Memory) -> None:
    """As earlier versions left it."""
    memory.remember("In spring Hal Reed tunes the pianos.", entities=["Hal Reed"])
    own = memory.remember("In the evening Dan Quill plays the cello.", entities=["Dan Quill"]).memory_id
    other = memory.remember("Nobody plays.", entities=["Dan Quill"]).memory_id
    left_alone = memory.remember("At noon Dan Quill plays the harp.", entities=["Dan Quill"]).memory_id
    merged = str(memory.graph.merge(["Dan Quill"], "Hal Reed").receipt_id)
    for each in (own, other):
        memory.sweep.undo(str(memory.update(each, text="It rains.").receipt_id))
    memory.sweep.undo(merged)
    assert memory.care.doctor().findings == ()
    dan, hal = (memory.graph.related(name).start.key for name in ("Dan Quill", "Hal Reed"))
    with store_of(memory).collector.changing() as tx:
        chunks = [mention.chunk for mention in tx.mentions.of([dan])]
        tx.mentions.drop([Mention(chunk, dan) for chunk in chunks])
        tx.mentions.add([Mention(chunk, hal) for chunk in chunks], {})
    assert memory.care.doctor().findings == (Finding("name_unmentioned", 1, (own,)),)
    assert memory.care.doctor(repair=True).left == ()
    assert {each.name for each in memory.get(own).entities} == {"Dan Quill", "Hal Reed"}
    assert {each.name for each in memory.get(other).entities} == {"Hal Reed"}
    assert {each.name for each in memory.get(left_alone).entities} == {"Hal Reed"}, "it may have been said so"
    assert memory.care.doctor().findings == ()
