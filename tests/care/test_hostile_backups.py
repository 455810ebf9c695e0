"""Backups that were made to do harm: each has a valid seal, and each gets one sentence."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memsweep.app import App
from memsweep.model.care import Checkup
from memsweep.store.file import care_sql
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from tests.care import stores
from tests.support import forging, store_files
from tests.support.commands import Ran, memsweep
from tests.support.forging import forged, patch, redefined

Forge = Callable[[Path], object]
ENDLESS = "with recursive c (x) as (select 1 union all select x + 1 from c) select x from c"
ALL_GONE = "begin delete from memory where id <> new.id; end"


@pytest.fixture
def copy(filled: Path, make: Callable[..., App], tmp_path: Path) -> Path:
    """A backup of the filled workspace, which nobody has open."""
    app = make()
    made = Path(app.memory().care.backup(tmp_path / "copy.backup").path)
    app.close()
    return made


SCHEMA: dict[str, Forge] = {
    "a trigger on insert": forged(f"create trigger t after insert on memory {ALL_GONE}"),
    "a trigger on update": forged(f"create trigger t after update on memory {ALL_GONE}"),
    "a trigger on delete": forged("create trigger t after delete on meta begin delete from memory; end"),
    "a trigger of a view": forged("create trigger t instead of insert on live_memory begin delete from memory; end"),
    "a view more": forged(f"create view more as {ENDLESS}"),
    "an endless view in place of ours": forged(f"drop view live_entity; create view live_entity as {ENDLESS}"),
    "a view in place of a table": forged(
        "alter table thread rename to other; create view thread as select id, uid from other"
    ),
    "an endless view in place of a table": forged(f"drop table thread; create view thread (id) as {ENDLESS}"),
    "a table more": forged("create table more (x)"),
    "a table less": forged("drop table tombstone"),
    "a view less": forged("drop view live_mention"),
    "an index less": forged("drop index audit_by_subject"),
    "an index more": forged("create index more on memory (text)"),
    "an index that calls a function": forged("create index more on memory (abs(id))"),
    "another index": forged("drop index audit_by_subject; create index audit_by_subject on audit (reason)"),
    "a column more": forged("alter table thread add column more text"),
    "a generated column": forged("alter table thread add column more as (length(uid))"),
    "a table without its key": forged(
        "drop table tombstone; create table tombstone (hash blob, at integer, memory text, reason text)"
    ),
    "another default": redefined("memory", "default '[]'", "default '[1]'"),
    "a check": redefined("thread", "uid text not null", "uid text check (length(uid)) not null"),
    "another collation": redefined("receipt", "strategy text not null", "strategy text collate nocase not null"),
    "another case": redefined("thread", "uid text", "uid TEXT"),
    "statistics": forged("analyze"),
    "words of another table": forged(
        "drop table chunk_fts; create virtual table chunk_fts using fts5(text, content='memory', content_rowid='id')"
    ),
    "a full text more": forged("create virtual table more using fts5(x)"),
    "a tree of places": forged("create virtual table more using rtree(id, a, b)"),
    "a table that is called a seal": lambda copy: forging.edit(
        copy, f"drop table backup_seal; create view backup_seal (key, value) as select x, x from ({ENDLESS})"
    ),
    "another seal": lambda copy: forging.edit(
        copy,
        """create table kept as select * from backup_seal; drop table backup_seal;
           alter table kept rename to backup_seal""",
    ),
    "five thousand tables": lambda copy: _many_tables(copy, 5000),
    "a definition of a megabyte": forged(f"create view more as select '{'x' * 1_000_000}'"),
    "an expression without end": lambda copy: _deep_view(copy),
}

HEADER: dict[str, Forge] = {
    "version 0": forged("pragma user_version = 0; update backup_seal set value = 0 where key = 'schema'"),
    "a negative version": forged("pragma user_version = -1; update backup_seal set value = -1 where key = 'schema'"),
    "another application": forged("pragma application_id = 7"),
    "a journal of its own": lambda copy: _vacuumed(copy, "pragma journal_mode = wal"),
    "pages for vacuuming": lambda copy: _vacuumed(copy, "pragma auto_vacuum = 1"),
    "UTF-16": lambda copy: patch(copy, 56, (2).to_bytes(4, "big")),
    "reserved space": lambda copy: patch(copy, 20, b"\x20"),
    "pages of three bytes": lambda copy: patch(copy, 16, b"\0\3"),
    "two billion pages": lambda copy: patch(copy, 28, (2**31 - 2).to_bytes(4, "big")),
    "no pages": lambda copy: patch(copy, 28, bytes(4)),
    "a header alone": lambda copy: os.truncate(copy, 100),
    "half a header": lambda copy: os.truncate(copy, 50),
    "an empty file": lambda copy: os.truncate(copy, 0),
    "half a file": lambda copy: os.truncate(copy, copy.stat().st_size // 8192 * 4096),
    "something behind it": lambda copy: copy.write_bytes(copy.read_bytes() + b"PK\5\6" + bytes(4092)),
    "something before it": lambda copy: copy.write_bytes(b"#!/bin/sh\n" + copy.read_bytes()),
    "a terabyte of nothing": lambda copy: os.truncate(copy, 1 << 40),
    "ten gigabytes that it claims": lambda copy: _claims(copy, 10 << 30),
    "a free page that leads to itself": lambda copy: _free_loop(copy),
    "a table that leads to itself": lambda copy: _table_loop(copy),
    "a table that is another's": lambda copy: _same_root(copy),
    "a table beyond the end": lambda copy: _root(copy, "thread", 2**30),
    "a table that is the schema": lambda copy: _root(copy, "thread", 1),
    "zeros in the middle": lambda copy: patch(copy, forging.root_of(copy, "memory"), bytes(4096)),
}

ROWS: dict[str, Forge] = {
    "a text where a number belongs": forged("update memory set created_at = 'soon'"),
    "a fraction where a number belongs": forged("update memory set version = 1.5"),
    "a blob where a text belongs": forged("update memory set text = x'00' where id = 1"),
    "a text where a blob belongs": forged("update memory set content_hash = '0123456789abcdef' where id = 1"),
    "a text where a fraction belongs": forged("update entity set confidence = 'high'"),
    "an endless confidence": forged("update entity set confidence = 9e999 where id = 1"),
    "an endless weight": forged("update relation set weight = -9e999"),
    "text that is none": forged("update chunk set text = cast(x'ff80' as text) where id = 1"),
    "half an emoji": forged("update chunk set text = cast(x'eda0bd' as text) where id = 1"),
    "a hash of a byte": forged("update memory set content_hash = x'00' where id = 1"),
    "a vector of a byte": forged("update vector set data = x'00' where chunk = 1"),
    "a negative id": forged("update memory set id = -5 where id = 1"),
    "no id": forged("update memory set id = 0 where id = 1"),
    "an id after which there is none": forged("update memory set id = 9223372036854775807 where id = 1"),
    "no numbers left": forged("update sqlite_sequence set seq = 9223372036854775807 where name = 'memory'"),
    "a number that is none": forged("update sqlite_sequence set seq = 'x' where name = 'memory'"),
    "the number of no table": forged("insert into sqlite_sequence values ('elsewhere', 1)"),
    "an id twice": lambda copy: _id_twice(copy),
    "a null where none may be": lambda copy: _null(copy),
    "a path for a generation": forged("insert into meta values ('vector_generation', '../../escape')"),
    "a date that is none": forged("update meta set value = 'x' where key = 'created_at'"),
    "a date of no year": forged("update meta set value = 1 << 62 where key = 'created_at'"),
    "another model": forged("update meta set value = '{}' where key = 'model'"),
    "a model that is deep": lambda copy: _deep_model(copy),
    "a blob of a model": forged("update meta set value = x'00' where key = 'model'"),
    "a text of 65 megabytes": lambda copy: forging.edit(
        copy, "update memory set text = cast(zeroblob(65 << 20) as text) where id = 1"
    ),
    "a memory more than it says": lambda copy: _miscounted(copy),
}


def _many_tables(copy: Path, count: int) -> None:
    with store_files.open_file(copy) as db:
        db.execute("begin")
        for number in range(count):
            db.execute(f"create table more{number} (x)")
        db.execute("commit")


def _deep_view(copy: Path) -> None:
    forging.edit(copy, f"create view more as select {'(' * 500}1{')' * 500}")
    forging.reseal(copy)


def _vacuumed(copy: Path, pragma: str) -> None:
    forging.edit(copy, f"{pragma}; vacuum")


def _claims(copy: Path, size: int) -> None:
    os.truncate(copy, size)
    patch(copy, 28, (size // 4096).to_bytes(4, "big"))


def _table_loop(copy: Path) -> None:
    raw = copy.read_bytes()
    tables = store_files.query(copy, "select name from sqlite_schema where type = 'table' and rootpage > 1")
    roots = [forging.root_of(copy, table) for table in tables]
    root = next(root for root in roots if raw[root] == 5)  # it has pages below it
    patch(copy, root + 8, (root // 4096 + 1).to_bytes(4, "big"))


def _free_loop(copy: Path) -> None:
    forging.edit(copy, "pragma auto_vacuum = 0; create table more (x); insert into more values (zeroblob(50000))")
    forging.edit(copy, "drop table more")
    forging.reseal(copy)
    first = copy.read_bytes()[32:36]
    patch(copy, (int.from_bytes(first) - 1) * 4096, first)


def _root(copy: Path, table: str, page: int) -> None:
    with store_files.open_file(copy) as db:
        db.execute("pragma writable_schema = on")
        db.execute("update sqlite_schema set rootpage = ? where name = ?", (page, table))


def _same_root(copy: Path) -> None:
    (page,) = store_files.query(copy, "select rootpage from sqlite_schema where name = 'memory'")
    _root(copy, "chunk", page)


def _unguarded(copy: Path, table: str, old: str, new: str, script: str) -> None:
    """Change rows as a weaker definition allows it, and put the strict one back."""
    forging.edit_schema(copy, table, old, new)
    forging.edit(copy, script)
    forging.edit_schema(copy, table, new, old)
    forging.reseal(copy)


def _null(copy: Path) -> None:
    _unguarded(copy, "memory", "source text not null", "source text", "update memory set source = null where id = 1")


def _id_twice(copy: Path) -> None:
    """Two threads of one id: the index knows one of them by another."""
    forging.edit(copy, "insert into thread (id, uid) values (77, 'tall')")
    raw = copy.read_bytes()
    assert raw.count(b"tall") == 2  # in the table and in its index
    root = forging.root_of(copy, "thread")
    at = raw.index(b"tall", root)
    assert at < root + 4096
    patch(copy, at, b"talk")
    with store_files.open_file(copy) as db:
        assert db.execute("select count(*) from thread not indexed where +uid = 'talk'").fetchone() == (2,)
    forging.reseal(copy)


def _deep_model(copy: Path) -> None:
    with store_files.open_file(copy) as db:
        db.execute("update meta set value = ? where key = 'model'", ("[" * 100_000,))
    forging.reseal(copy)


def _miscounted(copy: Path) -> None:
    with store_files.open_file(copy) as db:
        values = dict(db.execute("select key, value from backup_seal")) | {"memories": 10**6}
        values.pop("digest")
        db.execute("drop table backup_seal")
        values["digest"] = forging.digest(db, values)
        db.execute("create table backup_seal (key text primary key, value) without rowid")
        db.executemany("insert into backup_seal values (?, ?)", values.items())


def state(home: Path, filled: Path) -> object:
    """All that a refused restore may not change."""
    registry = store_files.query(home / "registry.db", "select * from workspace")
    names = {path.name for path in (home / "workspaces").iterdir() if not path.name.endswith(("-wal", "-shm"))}
    return registry, names, stores.dump(filled)


@pytest.mark.slow
@pytest.mark.parametrize("case", [*SCHEMA, *HEADER, *ROWS])
def test_a_forged_backup_gets_one_sentence_and_changes_nothing(
    run: Callable[..., Ran], filled: Path, home: Path, copy: Path, case: str
) -> None:
    (SCHEMA | HEADER | ROWS)[case](copy)
    before = state(home, filled)
    for arguments in (["--workspace", "other"], ["--replace"]):
        ran = run("restore", str(copy), *arguments)
        assert ran.status in (2, 5), ran.err
        assert "copy.backup" in ran.err
        assert "nothing was changed" in ran.err or "are accepted" in ran.err
        assert "Traceback" not in ran.err
        assert ".draft" not in ran.err
        assert len(ran.err) < 1000
        assert state(home, filled) == before


@pytest.mark.parametrize(
    ("case", "said"),
    {
        "a trigger on insert": "an unknown trigger 't'",
        "another default": "another definition of table 'memory'",
        "a table less": "no table tombstone",
        "a negative id": "id is -5",
        "text that is none": "row 1 of chunk",
        "a text of 65 megabytes": "67,108,864 bytes",
        "a date that is none": "created_at",
        "two billion pages": "2,147,483,646 pages",
    }.items(),
)
def test_the_sentence_names_what_is_wrong(run: Callable[..., Ran], copy: Path, case: str, said: str) -> None:
    (SCHEMA | HEADER | ROWS)[case](copy)
    assert said in " ".join(run("restore", str(copy), "--workspace", "other").err.split())


@pytest.mark.parametrize("by", ["user_version", "schema", "format"])
def test_a_newer_version_is_refused_by_name(run: Callable[..., Ran], copy: Path, by: str) -> None:
    if by == "user_version":
        forged(f"pragma user_version = {len(WORKSPACE_MIGRATIONS) + 1}")(copy)
    else:
        forged(f"update backup_seal set value = 99 where key = '{by}'")(copy)
    ran = run("restore", str(copy), "--workspace", "other")
    assert ran.status == 5
    assert "newer memsweep ('0.1.0.dev0'" in ran.err


# what is no regular file


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


NO_FILES: dict[str, tuple[int, Callable[[Path], object]]] = {
    "a pipe": (2, os.mkfifo),
    "a folder": (2, lambda path: path.mkdir()),
    "a socket": (2, _socket),
    "a device without end": (2, lambda path: path.symlink_to("/dev/zero")),
    "a device without anything": (2, lambda path: path.symlink_to("/dev/null")),
    "a link to a pipe": (2, lambda path: (os.mkfifo(path.with_name("p")), path.symlink_to("p"))),
    "a link to nothing": (3, lambda path: path.symlink_to("nowhere")),
    "a link to itself": (5, lambda path: path.symlink_to(path)),
    "nothing": (3, lambda path: None),
}


@pytest.mark.parametrize("case", NO_FILES)
@pytest.mark.parametrize("command", [["restore"], ["graph", "import"], ["context", "import"]], ids=" ".join)
def test_only_a_regular_file_is_opened(
    run: Callable[..., Ran], tmp_path: Path, home: Path, command: list[str], case: str
) -> None:
    status, make = NO_FILES[case]
    path = tmp_path / "f"
    make(path)
    ran = run(*command, str(path))
    assert ran.status == status, ran.err
    assert str(path) in ran.err.replace("\n", "")
    assert "Traceback" not in ran.err
    assert not home.exists() or not list(home.glob("workspaces/.*"))


# what is none the worse for it


def moved(copy: Path) -> Path:
    copy.rename(copy.with_name("elsewhere 🗄 #?%.backup"))
    copy.symlink_to("elsewhere 🗄 #?%.backup")
    return copy


def beside(copy: Path) -> Path:
    for end in ("-journal", "-wal", "-shm"):
        copy.with_name(copy.name + end).write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(4096))
    return copy


def edited(script: str, *, seal: bool = False) -> Callable[[Path], Path]:
    def change(copy: Path) -> Path:
        forging.edit(copy, script)
        if seal:
            forging.reseal(copy)
        return copy

    return change


HARMLESS: dict[str, Callable[[Path], Path]] = {
    "as it was made": lambda copy: copy,
    "a link to it": moved,
    "journals of something else beside it": beside,
    "small pages": edited("pragma page_size = 512; vacuum"),
    "large pages": edited("pragma page_size = 65536; vacuum"),
    "free pages": edited("create table more (x); insert into more values (zeroblob(50000)); drop table more"),
    "numbers that are too low": edited("update sqlite_sequence set seq = 0", seal=True),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_a_harmless_backup_is_restored_as_it_was(
    filled: Path, make: Callable[..., App], home: Path, copy: Path, case: str
) -> None:
    source = HARMLESS[case](copy)
    kept = {path: path.read_bytes() for path in source.parent.iterdir() if path.is_file()}
    app = make()
    app.restore(source, "other")
    assert stores.dump(store_files.file_of(home, "other"), without=CHANGED) == stores.dump(filled, without=CHANGED)
    assert store_files.problems(store_files.file_of(home, "other")) == []
    assert app.memory("other").care.doctor() == Checkup("other", ())
    assert {path: path.read_bytes() for path in source.parent.iterdir() if path.is_file()} == kept


CHANGED = ("audit", "sqlite_sequence", "meta")


def test_ids_of_what_was_purged_are_not_given_out_again(
    filled: Path, make: Callable[..., App], home: Path, tmp_path: Path
) -> None:
    forging.edit(filled, "update sqlite_sequence set seq = seq + 1000")
    last = dict(store_files.query(filled, "select name, seq from sqlite_sequence"))
    app = make()
    app.memory().care.backup(tmp_path / "b")
    app.restore(tmp_path / "b", "other")
    found = dict(store_files.query(store_files.file_of(home, "other"), "select name, seq from sqlite_sequence"))
    assert found == last | {"audit": last["audit"] + 1}


@pytest.mark.parametrize("form", ["chunks with an index of their ids", "turns without generations"])
def test_a_backup_of_a_file_of_earlier_days_is_restored(
    filled: Path, make: Callable[..., App], home: Path, tmp_path: Path, form: str
) -> None:
    before = stores.dump(filled, without=CHANGED)
    _grow_old(filled, form)
    app = make()
    app.memory().care.backup(tmp_path / "b")
    app.restore(tmp_path / "b", "other")
    assert stores.dump(store_files.file_of(home, "other"), without=CHANGED) == before
    assert app.memory("other").care.doctor() == Checkup("other", ())


def _grow_old(file: Path, form: str) -> None:
    first = WORKSPACE_MIGRATIONS[0]
    for settled, before in care_sql.EARLIER:
        assert settled in first
        first = first.replace(settled, before)
    statements = {line.strip().split(" ", 3)[2]: line.strip() for line in first.split(";") if line.strip()}
    indexes = [text for name, text in statements.items() if name.startswith("chunk_by")]
    with store_files.open_file(file) as db:
        if form.startswith("chunks"):
            db.execute("create table kept as select * from chunk; drop table chunk")
            db.execute(statements["chunk"])
            db.execute("insert into chunk select * from kept; drop table kept")
            for statement in indexes:
                db.execute(statement)
        else:
            db.execute("drop index active_segment_by_turn")
            db.execute(statements["active_segment_by_turn"])


def test_what_memsweep_did_not_make_is_left_out_of_a_backup(
    filled: Path, make: Callable[..., App], home: Path, tmp_path: Path
) -> None:
    before = stores.dump(filled, without=CHANGED)
    forging.edit(
        filled,
        f"""create table more (x); create index other on memory (text); create view endless as {ENDLESS};
            create trigger t after insert on memory {ALL_GONE}; create virtual table words using fts5(x); analyze""",
    )
    app = make()
    app.memory().care.backup(tmp_path / "b")
    app.restore(tmp_path / "b", "other")
    assert stores.dump(store_files.file_of(home, "other"), without=CHANGED) == before
    assert app.memory("other").care.doctor() == Checkup("other", ())


def test_a_trigger_that_an_earlier_version_let_in_does_nothing(filled: Path, app: App) -> None:
    forging.edit(filled, f"create trigger t after insert on memory {ALL_GONE}")
    before = store_files.count(filled)
    app.memory().remember("one more")
    assert store_files.count(filled) == before + 1


def test_vectors_of_a_model_that_is_not_in_use_yet_are_left_behind(
    filled: Path, make: Callable[..., App], home: Path, tmp_path: Path
) -> None:
    before = stores.dump(filled, without=CHANGED)
    forging.edit(
        filled,
        """create table vector_stage (chunk integer primary key, data blob not null) strict;
           insert into vector_stage values (1, x'0102'); insert into meta values ('staged_model', 'm 2')""",
    )
    with store_files.open_file(filled) as db:
        db.execute("drop table vector_stage")
        db.execute("create table if not exists vector_stage (chunk integer primary key, data blob not null) strict")
        db.execute("insert into vector_stage values (1, x'0102')")
    app = make()
    app.memory().care.backup(tmp_path / "b")
    app.restore(tmp_path / "b", "other")
    assert stores.dump(store_files.file_of(home, "other"), without=CHANGED) == before


# the disk


class _FailingFile(apsw.VFSFile):
    def xRead(self, amount: int, offset: int) -> bytes:
        if _FailingDisk.failing and amount > 100:
            error = apsw.IOError("injected")
            error.extendedresult = apsw.SQLITE_IOERR_READ
            raise error
        return super().xRead(amount, offset)


class _FailingDisk(apsw.VFS):
    failing = False

    def __init__(self) -> None:
        self.base = apsw.vfs_names()[0]
        super().__init__("failing", self.base, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        filename = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        kind = _FailingFile if filename.endswith(".draft") and flags[0] & apsw.SQLITE_OPEN_READONLY else apsw.VFSFile
        return kind(self.base, name, flags)


def test_an_error_of_the_disk_is_no_damage_of_the_backup(
    filled: Path, app: App, home: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memsweep.errors import StoreCorrupt, StoreError

    disk = _FailingDisk()
    try:
        monkeypatch.setattr(_FailingDisk, "failing", True)
        with pytest.raises(StoreError, match="could not be read") as caught:
            app.restore(copy, "other")
        assert not isinstance(caught.value, StoreCorrupt)
        assert str(home / "workspaces") in str(caught.value)
        assert "damaged" not in str(caught.value)
        monkeypatch.setattr(_FailingDisk, "failing", False)
        app.restore(copy, "other")
    finally:
        app.close()
        disk.unregister()


def test_a_backup_that_does_not_fit_on_the_disk_is_refused_before_it_is_copied(
    run: Callable[..., Ran], home: Path, copy: Path
) -> None:
    free = os.statvfs(home).f_bavail * os.statvfs(home).f_frsize
    size = min(free // 2 + (1 << 30), (256 << 30) - 4096) // 4096 * 4096
    _claims(copy, size)
    ran = run("restore", str(copy), "--workspace", "other")
    assert ran.status == 5
    if 2 * size > free:
        assert "are free" in ran.err


@pytest.mark.slow
def test_the_command_refuses_in_a_process_of_its_own(home: Path, filled: Path, copy: Path) -> None:
    forged(f"create trigger t after insert on memory {ALL_GONE}")(copy)
    ran = memsweep("restore", str(copy), "--workspace", "other", home=home)
    assert ran.status == 5
    assert "an unknown trigger 't'" in " ".join(ran.err.split())
