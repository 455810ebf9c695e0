"""After a purge no file has a byte of a secret that was redacted, on either engine."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memsweep.app import App, Memory, make_app
from memsweep.settings import load_settings
from tests.secrets.test_ways_in import AWS, GITHUB
from tests.support import falkor
from tests.support.waiting import wait_for

SECRETS = (AWS.encode(), GITHUB.encode(), AWS.lower().encode(), GITHUB.lower().encode())


def fill(memory: Memory, folder: Path) -> None:
    fact = {"from": "Ada", "relation": f"HAS {GITHUB}", "to": f"Key {AWS}"}
    memory.remember(f"The deploy key is {AWS}.", tags=[AWS], metadata={"key": AWS}, relations=[fact])
    changed = memory.remember(f"Once it was {GITHUB} in the text.").memory_id
    memory.update(changed, text="Now it is clean.")
    memory.delete(memory.remember(f"Thrown away with {AWS}.").memory_id, confirm=True)
    window = memory.context("talk")
    window.add([{"segment_id": f"s{n}", "text": f"use {AWS} in turn {n}", "tags": [GITHUB]} for n in range(3)])
    window.prune(["s1"], strategy="stash")
    folder.mkdir()
    (folder / "a.py").write_text(f'def deploy():\n    key = "{AWS}"\n    return key\n')
    memory.code.index(str(folder))
    memory.search("deploy key")  # makes the vector file


def holding(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(secret in path.read_bytes() for secret in SECRETS)]


def test_no_file_of_the_home_has_it(make: Callable[..., App], home: Path, tmp_path: Path) -> None:
    app = make(MEMSWEEP_SECRETS_ACTION="off")
    memory = app.memory()
    fill(memory, tmp_path / "code")
    backup = tmp_path / "before.backup"
    memory.care.backup(backup)
    memory.sweep.prune("secrets", confirm=True)
    assert holding(home) != []
    purged = memory.sweep.purge(0, confirm=True)
    assert holding(home) == []
    assert any(str(backup) in note for note in purged.notes)
    assert holding(backup.parent) == ["before.backup"] or "before.backup" in holding(backup.parent)
    assert memory.care.doctor().findings == ()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[falkor.Server]:
    server = falkor.Server(tmp_path / "server", "--rdbcompression", "no", durable=True)
    yield server
    server.stop()


def on_disk(server: falkor.Server) -> bytes:
    files = [path for path in server.folder.rglob("*") if path.suffix in {".aof", ".rdb"}]
    return b"".join(path.read_bytes() for path in files if path.exists())


def opened(url: str, tmp_path: Path) -> App:
    variables = {"MEMSWEEP_HOME": str(tmp_path / "home"), "MEMSWEEP_STORE": url, "MEMSWEEP_SECRETS_ACTION": "off"}
    return make_app(load_settings(variables))


@pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12")
def test_no_file_of_a_falkor_server_has_it(server: falkor.Server, tmp_path: Path) -> None:
    app = opened(server.url, tmp_path)
    memory = app.memory()
    fill(memory, tmp_path / "code")
    assert any(secret in on_disk(server) for secret in SECRETS)
    memory.sweep.prune("secrets", confirm=True)
    purged = memory.sweep.purge(0, confirm=True)
    assert purged.notes == ()
    wait_for(lambda: not any(secret in on_disk(server) for secret in SECRETS), "the old log to be unlinked")
    assert b"Now it is clean." in on_disk(server)
    assert memory.care.doctor().findings == ()
    app.close()


@pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12")
def test_where_falkor_may_not_be_asked_the_answer_says_so(server: falkor.Server, tmp_path: Path) -> None:
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "plain", "on", ">secret", "~*", "+@all", "-bgrewriteaof")
    app = opened(f"falkor://plain:secret@127.0.0.1:{server.port}", tmp_path)
    memory = app.memory()
    memory.remember(f"The deploy key is {AWS}.")
    memory.sweep.prune("secrets", confirm=True)
    (note,) = memory.sweep.purge(0, confirm=True).notes
    assert note.startswith("The log on the disk of the FalkorDB server may still have it")
    app.close()
