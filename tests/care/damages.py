"""Wrong values, one after the other in every column of every table, and what reads them."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from memsweep.services.memory import Memory
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from tests.support import store_files
from tests.support.counts import some_of

JSON = {"tags", "metadata", "summary", "evidence", "counts", "skipped", "chunks", "config", "focus", "refs", "said"}
NEVER_NEGATIVE = {
    "version",
    "pinned",
    "stale",
    "handed_in",
    "tokens",
    "position",
    "places",
    "lines",
    "runs",
    "evidence",
}
NO_UTF8 = "cast(x'fffe80' as text)"
# Rows of the kinds that the filled home has none of.
MORE = """
    insert into receipt (uid, action, strategy, actor, created_at, undone_at)
    values ('rcpt_merge', 'merge', 'merge', 'me', 1, 2);
    insert into alias (name_key, type_key, name, entity, receipt)
    select 'ada byron', type_key, 'Ada Byron', id, (select id from receipt where uid = 'rcpt_merge') from entity
    where name = 'Ada';
    insert into merge_move (receipt, kind, a, b, c, said)
    select id, 'mention', 1, 1, null, 'null' from receipt where uid = 'rcpt_merge';
    insert into revision (receipt, kind, item, at, before)
    select id, 'memory', 1, 1, '{}' from receipt where uid = 'rcpt_merge';
    insert into supersession (old, new, at)
    select id, (select max(id) from memory where trash is null and source <> 'code_indexer'), 5 from memory
    where trash is not null;
    insert into memory_act (memory, act, at, origin, said, receipt, trash)
    select max(memory.id), 'say', 5, (select min(id) from origin), '{"text": "abc"}', receipt.id, null
    from memory, receipt where memory.trash is null and receipt.uid = 'rcpt_merge';
    insert into code_skip (root, path, language, stamp, digest, read_at_ns)
    values ((select id from code_root), 'broken.py', 'python', '1:2', 'abc', 5);
    insert into tombstone (hash, at, memory, reason) values (zeroblob(16), 5, 'mem_gone', 'deleted forever');
    insert into name_seen (name_key, name, evidence, chunks) values ('hedy', 'Hedy', 1, '[1]');
    insert into meta (key, value) values ('vector_generation', 0)"""


class Place(NamedTuple):
    """A column, as the schema says it."""

    table: str
    column: str
    kind: str
    required: bool


class Wrong(NamedTuple):
    place: Place
    name: str
    value: str


@functools.cache
def _schema(migrations: tuple[str, ...]) -> list[tuple[Place, bool]]:
    """Every column, and whether it is (part of) the key that a row is known by."""
    db = apsw.Connection(":memory:")
    for migration in migrations:
        db.execute(migration)
    rows = db.execute("""
        select t.name, c.name, lower(c.type), c."notnull" or (c.pk and t.wr), c.pk > 0, t.wr
        from pragma_table_list as t, pragma_table_info(t.name) as c
        where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite%' order by t.name, c.cid""")
    return [(Place(table, name, kind, bool(needed)), bool(key)) for table, name, kind, needed, key, _ in rows]


def columns(migrations: tuple[str, ...] = WORKSPACE_MIGRATIONS) -> list[Place]:
    return [place for place, _ in _schema(migrations)]


def damages(migrations: tuple[str, ...] = WORKSPACE_MIGRATIONS) -> Iterator[Wrong]:
    """What SQLite lets one write: not into a rowid, and no NULL into the key of a table that has none."""
    for place, is_key in _schema(migrations):
        if is_key and place.kind == "integer" and not _has_no_rowid(place.table, migrations):
            continue
        if place.table == "meta":
            continue  # its values have a test of their own
        if place.required and not is_key:
            yield Wrong(place, "null", "null")
        yield from _of_another_kind(place)
        if place.column in JSON and place.kind == "text":
            yield Wrong(place, "no json", "'{oops'")
            if place.column != "said":
                yield Wrong(place, "other json", "'7'")
        if place.kind == "integer" and (place.column.endswith("_at") or place.column in {"at", "last_seen"}):
            yield Wrong(place, "out of time", str(2**62))
        if place.column in NEVER_NEGATIVE and place.kind == "integer":
            yield Wrong(place, "negative", "-5")


def _of_another_kind(place: Place) -> Iterator[Wrong]:
    if place.kind in {"integer", "real"}:
        yield Wrong(place, "text", "'oops'")
    if place.kind != "blob":
        yield Wrong(place, "blob", "x'00ff'")
        yield Wrong(place, "no utf-8", NO_UTF8)
    else:
        yield Wrong(place, "number", "5")


def _has_no_rowid(table: str, migrations: tuple[str, ...]) -> bool:
    return f"create table {table} " in migrations[0] and "without rowid" in _definition(table, migrations)


def _definition(table: str, migrations: tuple[str, ...]) -> str:
    return migrations[0].split(f"create table {table} ", 1)[1].split(";", 1)[0]


def put(file: Path, wrong: Wrong) -> None:
    """Write a wrong value into the last row of a table, past every constraint."""
    table, column = wrong.place.table, wrong.place.column
    with store_files.open_file(file) as db:
        (definition,) = _row(db, "select sql from sqlite_schema where name = ?", table)
        _redefine(db, table, definition.replace(" not null", ""))
        keys = "rowid"
        if "without rowid" in definition:
            keys = ", ".join(name for (name,) in db.execute("select name from pragma_table_info(?) where pk", (table,)))
        last = f"({keys}) = (select {keys} from {table} order by 1 desc limit 1)"
        db.execute(f"update {table} set {column} = {wrong.value} where {last}")
        assert db.changes() == 1, wrong
        _redefine(db, table, definition)


def _row(db: apsw.Connection, statement: str, *values: Any) -> Any:
    return db.execute(statement, values).fetchone()


def _redefine(db: apsw.Connection, table: str, definition: str) -> None:
    """Only what constraints say may differ: the table itself is left alone."""
    db.execute("pragma writable_schema = on")
    db.execute("update sqlite_schema set sql = ? where name = ?", (definition, table))
    db.execute("pragma writable_schema = reset")


def doors(memory: Memory, ids: list[str], folder: Path, *, of_code: bool) -> Iterator[Callable[[], object]]:
    """Everything that reads a workspace."""
    for memory_id in ids:
        yield functools.partial(memory.get, memory_id)
    for memory_id in some_of(ids, 3):
        yield functools.partial(memory.sweep.explain, memory_id)
    for query in ("turn with Grace", "Ada program", "first second", ""):
        yield functools.partial(memory.search, query, limit=50)
    yield functools.partial(memory.search, "turn", filters={"tags": ["talk"]})
    yield from (
        memory.stats,
        memory.sweep.trash,
        memory.sweep.audit,
        memory.sweep.tombstones,
        memory.contexts,
        memory.care.model,
    )
    for strategy in ("all", "stale_code", "missing_files", "expired", "duplicates", "decayed", "superseded"):
        yield functools.partial(memory.sweep.plan, strategy)
    yield from (memory.graph.entities, memory.graph.status, memory.graph.validate, memory.graph.communities)
    yield from (memory.graph.briefing, memory.graph.dump, memory.graph.decay)
    yield functools.partial(memory.graph.query, ["Ada"])
    yield functools.partial(memory.graph.related, "Ada")
    window = memory.context("window")
    yield from (window.segments, window.analyze, window.state, window.working_set)
    yield functools.partial(window.search, "segment")
    yield functools.partial(memory.care.backup, folder / "backup", force=True)
    if of_code:  # starts a process
        yield functools.partial(memory.code.index, folder / "code")
    yield functools.partial(memory.remember, "turn 1 with Grace Hopper", thread_id="talk")
    yield functools.partial(memory.remember, "something new about Ada and Grace Hopper", entities=["Ada"])
    yield functools.partial(memory.sweep.check_deletion, ids)
