"""Full and read-only disks: a clear error, nothing lost, nothing half-done."""

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.places import private_home
from tests.support import store_files
from tests.support.commands import memsweep, run
from tests.support.fork_server import ForkServer

BIG = "All work and no play makes Jack a dull boy. " * 400


def add(text: str) -> list[object]:
    return ["remember", {"text": text}]


def test_a_limit_on_the_size_of_files_is_a_full_disk(fork_server: ForkServer, home: Path, app: App) -> None:
    app.memory().remember("before")
    app.close()
    size = store_files.file_of(home).stat().st_size
    calls = [add(f"{number} {BIG}") for number in range(20)]
    last = [["search", {"query": "before"}], ["stats", {}], ["get", {"memory_id": "x"}]]
    outcomes = fork_server.fork("attempt", home, calls=[*calls, *last], file_size_limit=size + 150_000).report()
    *added, found, stats, missing = outcomes
    kept = [outcome for outcome in added if "result" in outcome]
    refused = [outcome for outcome in added if "error" in outcome]
    assert kept
    assert refused
    assert {outcome["error"] for outcome in refused} == {"StoreFull"}
    assert all(store_files.file_of(home).name in outcome["message"] for outcome in refused)
    assert all("nothing was changed" in outcome["message"] for outcome in refused)
    assert found["result"]["hits"][0]["passage"]["text"] == "before"
    assert stats["result"]["total_memories"] == 1 + len(kept)
    assert missing["error"] == "NotFound"
    assert store_files.problems(store_files.file_of(home)) == []
    assert app.memory().stats().total_memories == 1 + len(kept)
    assert app.memory().remember("there is space again").duplicate_of is None


@pytest.mark.parametrize("limit", [1, 4096, 20_000, 60_000])
def test_no_space_for_a_new_workspace_leaves_nothing_of_it(
    fork_server: ForkServer, home: Path, app: App, limit: int
) -> None:
    (outcome,) = fork_server.fork("attempt", home, calls=[add("first")], file_size_limit=limit).report()
    assert outcome["error"] == "StoreFull"
    assert not list((home / "workspaces").glob("*"))
    assert app.workspaces() == []
    app.memory().remember("there is space again")
    assert app.memory().stats().total_memories == 1


def test_a_full_disk_while_the_vector_file_is_written_does_no_harm(
    fork_server: ForkServer, home: Path, app: App
) -> None:
    for number in range(200):
        app.memory().remember(f"note number {number}")
    app.close()
    call = ["search", {"query": "note number 7"}]
    limit = 40_000  # less than the vectors need, more than the log's index
    (outcome,) = fork_server.fork("search_with_small_tail", home, calls=[call], file_size_limit=limit).report()
    assert outcome["result"]["hits"][0]["passage"]["text"] == "note number 7"
    assert not list((home / "workspaces").glob("*.vec"))
    assert not list((home / "workspaces").glob("*.draft"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes, where mounting one is allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m,nr_inodes=200,mode=0700", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_file_system_refuses_and_keeps_what_is_there(
    fork_server: ForkServer, small_disk: Path, app: App
) -> None:
    home = small_disk / "home"
    calls = [add(f"{number} {BIG}") for number in range(60)]
    outcomes = fork_server.fork("attempt", home, calls=[*calls, ["stats", {}]]).report()
    *added, stats = outcomes
    kept = sum("result" in outcome for outcome in added)
    assert 0 < kept < 60
    assert {outcome["error"] for outcome in added if "error" in outcome} == {"StoreFull"}
    assert stats["result"]["total_memories"] == kept
    file = store_files.file_of(home)
    assert store_files.problems(file) == []
    assert store_files.count(file) == kept
    said = memsweep("remember", "one more " + BIG, home=home)
    assert said.status in (0, 5)
    said = memsweep("stats", "--json", home=home)
    assert said.json["total_memories"] >= kept


@pytest.mark.parametrize("has_home", [False, True])
def test_a_file_system_without_inodes_is_full_and_not_closed(small_disk: Path, has_home: bool, app: App) -> None:
    home = small_disk / "home"
    if has_home:
        assert memsweep("remember", "there before", home=home).status == 0
    for number in itertools.count():
        try:
            (small_disk / f"{number}").touch()
        except OSError:
            break
    ran = memsweep("remember", "one more", "-w", "another", home=home)
    assert ran.status == 5
    assert "no space left" in ran.err or "no room for another file" in ran.err
    assert "permissions" not in ran.err


@pytest.mark.parametrize("command", [["remember", "mine"], ["search", "mine"], ["where"], ["doctor"]], ids=" ".join)
def test_a_home_that_others_can_replace_is_refused(filled: Path, command: list[str]) -> None:
    filled.chmod(0o777)
    ran = memsweep(*command, home=filled)
    assert (ran.status, ran.err) == (
        2,
        f"Error: every account can write to the data folder {filled}. Close it: chmod 700 '{filled}'\n",
    )


def test_a_home_of_another_account_is_refused_but_to_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder of another account")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chown(folder, 12345, -1)
        assert private_home(Path(folder)) == Path(folder)
        code = (
            "import os, sys, memsweep.places as p, memsweep.secrets.find;"
            " os.seteuid(12346); p.private_home(p.Path(sys.argv[1]))"
        )
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=False)
        assert "belongs to another account (12345). Set MEMSWEEP_HOME to a folder of your own." in done.stderr
        os.chown(folder, 0, -1)


@pytest.fixture
def filled(home: Path, app: App) -> Path:
    app.memory().remember("something precious")
    app.close()
    return home


READS = [["search", "precious"], ["stats"], ["get", "mem_000000000000"], ["workspace", "list"]]
WRITES = [["remember", "another"], ["workspace", "create", "new"], ["workspace", "delete", "default", "--yes"]]


@pytest.mark.parametrize("command", [*READS, *WRITES], ids=" ".join)
def test_a_read_only_folder_is_named(filled: Path, command: list[str]) -> None:
    folders = [filled, filled / "workspaces"]
    files = [path for path in filled.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    for path in files:
        path.chmod(0o400)
    for folder in folders:
        folder.chmod(0o500)
    try:
        ran = memsweep(*command, home=filled, as_ordinary_user=True)
    finally:
        for folder in folders:
            folder.chmod(0o700)
    assert ran.status == 5, ran
    assert str(filled) in ran.err
    assert ran.err.startswith("Error: ")
    assert {path: path.read_bytes() for path in files} == before
    assert sorted(path for path in filled.rglob("*") if path.is_file()) == sorted(files)


@pytest.mark.parametrize("command", [*READS, *WRITES, ["where"]], ids=" ".join)
def test_a_home_that_cannot_be_entered_is_named(filled: Path, command: list[str]) -> None:
    filled.chmod(0o000)
    try:
        ran = memsweep(*command, home=filled, as_ordinary_user=True)
    finally:
        filled.chmod(0o700)
    assert ran.status == 5, ran
    assert str(filled) in ran.err


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    ran = memsweep("remember", "x", home=locked / "home", as_ordinary_user=True)
    assert ran.status == 5
    assert str(locked / "home") in ran.err
    assert "MEMSWEEP_HOME" in ran.err
    assert list(locked.iterdir()) == []


REFUSED = """
import memsweep
from memsweep.errors import StoreReadOnly
try:
    memsweep.open_memory("brand-new").remember("x")
except StoreReadOnly as error:
    print(error)
"""


def test_the_library_names_a_read_only_folder_too(filled: Path) -> None:
    (filled / "workspaces").chmod(0o500)
    ran = run([sys.executable, "-c", REFUSED], home=filled, as_ordinary_user=True)
    (filled / "workspaces").chmod(0o700)
    assert str(filled / "workspaces") in ran.out
