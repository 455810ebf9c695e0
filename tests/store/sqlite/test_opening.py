"""Opening files: schema, versions, damage, permissions."""

import contextlib
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import apsw
import pytest

from memsweep.app import App, Memory
from memsweep.errors import MemsweepError, StoreCorrupt, StoreTooNew
from memsweep.library import open_memory
from memsweep.store.file.connect import connect, make_file
from memsweep.store.file.schema import REGISTRY_MIGRATIONS, WORKSPACE_MIGRATIONS
from memsweep.store.sqlite.rescue import refusal
from tests.support import store_files
from tests.support.fork_server import ForkServer

OPERATIONS: dict[str, Callable[[Memory], object]] = {
    "add": lambda memory: memory.remember("another"),
    "search": lambda memory: memory.search("text"),
    "search nothing": lambda memory: memory.search(""),
    "get": lambda memory: memory.get("mem_000000000000"),
    "stats": lambda memory: memory.stats(),
    "reembed": lambda memory: memory.care.reembed(),
}


def no_fill(db: apsw.Connection) -> None: ...


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    with open_memory(home=home) as memory:
        for number in range(200):
            memory.remember(f"text number {number} with some words in it", tags=["t"])
    return home


@pytest.fixture
def filled(template: Path, home: Path) -> Path:
    """The file of a workspace with 200 memories that nobody has open."""
    shutil.copytree(template, home)
    return store_files.file_of(home)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_file_of_a_newer_version_is_left_as_it_is(filled: Path, make: Callable[..., App], operation: str) -> None:
    with store_files.open_file(filled) as db:
        db.pragma("user_version", len(WORKSPACE_MIGRATIONS) + 1)
    before = bytes_of(filled)
    with pytest.raises(StoreTooNew, match=r"newer memsweep \(schema") as caught:
        OPERATIONS[operation](make().memory())
    assert str(filled) in str(caught.value)
    assert "Upgrade" in str(caught.value)
    assert bytes_of(filled) == before


def test_a_registry_of_a_newer_version_is_refused(filled: Path, home: Path, make: Callable[..., App]) -> None:
    with store_files.open_file(home / "registry.db") as db:
        db.pragma("user_version", len(REGISTRY_MIGRATIONS) + 1)
    with pytest.raises(StoreTooNew, match=r"registry\.db"):
        make().workspaces()


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("damage", ["garbage", "header", "truncated", "half", "empty", "one page"])
def test_a_damaged_file_is_named_and_left_as_it_is(
    filled: Path, make: Callable[..., App], damage: str, operation: str
) -> None:
    whole = bytes_of(filled)
    broken = {
        "garbage": Random(1).randbytes(len(whole)),
        "header": b"X" * 100 + whole[100:],
        "truncated": whole[:-4096],
        "half": whole[: len(whole) // 2 + 17],
        "empty": b"",
        "one page": whole[:4096],
    }[damage]
    filled.write_bytes(broken)
    with pytest.raises(StoreCorrupt, match=filled.name) as caught:
        OPERATIONS[operation](make().memory())
    assert caught.value.exit_status == 5
    assert "backup" in str(caught.value)
    assert bytes_of(filled) == broken


def test_damage_in_the_middle_never_shows_as_a_success_that_is_none(filled: Path, make: Callable[..., App]) -> None:
    whole = bytearray(bytes_of(filled))
    chance = Random(2)
    for at in range(8192, len(whole), 4096):
        whole[at : at + 64] = chance.randbytes(64)
    filled.write_bytes(whole)
    app = make()
    with pytest.raises(MemsweepError, match=filled.name):
        app.memory().search("text number")
    with pytest.raises(MemsweepError, match=filled.name):
        app.memory().remember("new")


def test_an_empty_file_with_a_log_beside_it_keeps_the_log(filled: Path, make: Callable[..., App]) -> None:
    """SQLite would delete it."""
    log = filled.with_name(filled.name + "-wal")
    filled.write_bytes(b"")
    log.write_bytes(b"the last hope")
    with pytest.raises(StoreCorrupt):
        make().memory().stats()
    assert log.read_bytes() == b"the last hope"


def test_a_database_of_somebody_else_is_not_taken_over(filled: Path, make: Callable[..., App]) -> None:
    filled.unlink()
    with apsw.Connection(str(filled)) as db:
        db.execute("create table theirs (x); insert into theirs values (1)")
    db.close()
    with pytest.raises(StoreCorrupt):
        make().memory().remember("x")
    assert store_files.query(filled, "select name from sqlite_schema") == ["theirs"]


@pytest.mark.slow
def test_a_folder_in_the_place_of_a_file_is_refused(home: Path, app: App) -> None:
    (home / "registry.db").mkdir(parents=True)
    with pytest.raises(MemsweepError, match=r"registry\.db"):
        app.workspaces()


def test_a_file_in_the_place_of_the_home_is_refused(home: Path, app: App) -> None:
    home.write_text("in the way")
    with pytest.raises(MemsweepError, match="home"):
        app.memory().remember("x")
    assert home.read_text() == "in the way"


# migrations


@pytest.mark.parametrize("migrations", [WORKSPACE_MIGRATIONS, REGISTRY_MIGRATIONS], ids=["workspace", "registry"])
def test_migrations_make_a_file_from_nothing(tmp_path: Path, migrations: tuple[str, ...]) -> None:
    file = tmp_path / "new.db"
    file.touch()
    db = connect(file, migrations, no_fill)
    assert db.pragma("user_version") == len(migrations)
    assert db.pragma("journal_mode") == "wal"
    assert db.pragma("synchronous") == 2
    assert db.pragma("integrity_check") == "ok"
    db.close()


STEPS = ("create table one (x)", "create table two (x); insert into one values (2)", "alter table two add y")


@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_migrations_go_on_from_the_version_of_the_file(tmp_path: Path, start: int) -> None:
    file = tmp_path / "old.db"
    file.touch()
    connect(file, STEPS[:start], no_fill).close()
    db = connect(file, STEPS, None if start else no_fill)
    assert db.pragma("user_version") == 3
    assert list(db.execute("select x from one")) == [(2,)]
    assert [row[1] for row in db.execute("pragma table_info(two)")] == ["x", "y"]
    db.close()


def test_a_migration_that_fails_leaves_the_file_at_its_version(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    file.touch()
    connect(file, STEPS[:1], no_fill).close()
    with pytest.raises(apsw.SQLError):
        connect(file, (*STEPS[:2], "create table one (again)"))
    with store_files.open_file(file) as db:
        assert db.pragma("user_version") == 1
        assert [name for (name,) in db.execute("select name from sqlite_schema")] == ["one"]


def test_what_fills_a_new_file_is_one_transaction_with_its_schema(tmp_path: Path) -> None:
    file = tmp_path / "new.db"
    file.touch()

    def fail(db: apsw.Connection) -> None:
        db.execute("insert into one values (1)")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        connect(file, STEPS, fail)
    with store_files.open_file(file) as db:
        assert db.pragma("user_version") == 0
        assert list(db.execute("select name from sqlite_schema")) == []


# permissions


def modes(home: Path) -> dict[str, int]:
    kinds = {}
    for path in [home.parent, home, *home.rglob("*")]:
        kind = "folder" if path.is_dir() else path.name.split(".", 1)[1]
        kinds[f"{kind} {path.name}"] = stat.S_IMODE(path.stat().st_mode)
    return kinds


def test_only_the_owner_can_read_whatever_the_umask(fork_server: ForkServer, tmp_path: Path) -> None:
    home = tmp_path / "deep" / "er" / "home"
    calls = [["remember", {"text": "secret"}], ["search", {"query": "secret"}]]
    child = fork_server.fork("attempt", home, calls=calls, wait=True, umask=0)
    assert all("result" in outcome for outcome in child.said())
    made = modes(home)
    child.go()
    child.rest()
    assert {stat.S_IMODE((tmp_path / part).stat().st_mode) for part in ("deep", "deep/er", "deep/er/home")} == {0o700}
    assert {mode for name, mode in made.items() if name.startswith("folder")} == {0o700}
    assert {mode for name, mode in made.items() if not name.startswith("folder")} == {0o600}
    assert {name.split(" ")[0] for name in made} >= {"folder", "db", "db-wal", "db-shm"}


def test_a_home_that_is_there_keeps_its_mode(tmp_path: Path, make: Callable[..., App], home: Path) -> None:
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    make().memory().remember("x")
    assert stat.S_IMODE(home.stat().st_mode) == 0o755
    assert stat.S_IMODE((home / "workspaces").stat().st_mode) == 0o700


@pytest.mark.parametrize("act", [make_file, refusal])
def test_making_or_reading_a_file_that_is_there_drops_no_lock_on_it(tmp_path: Path, act: Callable[..., object]) -> None:
    """Whoever closes a file drops its process's locks on it; SQLite holds one for as long as the file is open."""
    file = tmp_path / "new.db"
    make_file(file)
    with contextlib.closing(connect(file, STEPS, no_fill)):
        act(file)
        first_shared_byte, many = 0x40000002, 510
        take = f"lockf(open({str(file)!r}, 'r+'), LOCK_EX | LOCK_NB, {many}, {first_shared_byte})"
        taken = subprocess.run([sys.executable, "-c", f"from fcntl import *; {take}"], capture_output=True, text=True)
    assert "BlockingIOError" in taken.stderr
