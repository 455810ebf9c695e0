"""What was deleted for good is not on the disk of the server either, or the answer says where it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memsweep.app import App, make_app
from memsweep.settings import load_settings
from tests.support.falkor import Server
from tests.support.waiting import wait_for

SECRET = b"Zyprexa"
FACT = {"from": "Zyprexa", "relation": "PRESCRIBED_FOR", "to": "Quillon"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "server", "--rdbcompression", "no", durable=True)
    yield server
    server.stop()


def opened(server: Server, tmp_path: Path, url: str = "") -> App:
    return make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path / "home"), "MEMSWEEP_STORE": url or server.url}))


def on_disk(server: Server) -> bytes:
    files = [path for path in server.folder.rglob("*") if path.suffix in {".aof", ".rdb"}]
    return b"".join(path.read_bytes() for path in files if path.exists())


def test_a_deletion_for_good_rewrites_the_log(server: Server, tmp_path: Path) -> None:
    app = opened(server, tmp_path)
    memory = app.memory()
    memory.remember("this one stays")
    told = memory.remember("something private", relations=[FACT]).memory_id
    assert SECRET in on_disk(server)
    gone = memory.delete(told, confirm=True, forever=True)
    assert gone.notes == ()
    # The server unlinks the old log a moment after the new one is whole.
    wait_for(lambda: SECRET not in on_disk(server), "the old log to be unlinked")
    assert b"this one stays" in on_disk(server)
    app.close()


def test_who_may_not_ask_for_it_is_told(server: Server, tmp_path: Path) -> None:
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "plain", "on", ">secret", "~*", "+@all", "-bgrewriteaof")
    app = opened(server, tmp_path, f"falkor://plain:secret@127.0.0.1:{server.port}")
    memory = app.memory()
    told = memory.remember("something private", relations=[FACT]).memory_id
    memory.delete(told, confirm=True)
    purged = memory.sweep.purge(0, confirm=True)
    assert purged.memories == 1
    (note,) = purged.notes
    assert note.startswith("The log on the disk of the FalkorDB server may still have it")
    assert note.endswith("BGREWRITEAOF does it there.")
    assert "secret" not in note
    app.close()
