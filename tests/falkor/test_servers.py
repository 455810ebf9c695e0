"""FalkorDB as servers are: killed, replaced, shared; several clients, several nodes. All of them real."""

import contextlib
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import StoreAway, StoreBusy, StoreError
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.store.falkor.engine import FalkorEngine
from memsweep.store.falkor.link import Link
from tests.falkor.servers import Start, end_leases, opened, texts
from tests.support.falkor import Server, free_port
from tests.support.waiting import wait_for
from tests.support.warm_python import warm_python

# crashes


def test_what_falkor_acknowledged_survives_a_kill_of_the_server(start: Start, tmp_path: Path) -> None:
    server = start(durable=True)
    acknowledged: list[str] = []
    with opened(server.url, tmp_path) as app:
        killer = threading.Timer(1.5, server.kill)
        killer.start()
        with contextlib.suppress(StoreError):
            for number in range(100_000):
                app.memory().remember(f"note {number} about nothing")
                acknowledged.append(f"note {number} about nothing")
        killer.join()
    assert acknowledged
    server.start()
    with opened(server.url, tmp_path) as app:
        there = texts(app)
        assert set(acknowledged) <= there
        assert len(there) <= len(acknowledged) + 1
        assert app.memory().search("about nothing").hits
        app.memory().remember("life goes on")
        assert app.memory().care.doctor().findings == ()


def test_a_falkor_that_syncs_every_second_or_never_is_whole_after_a_kill(start: Start, tmp_path: Path) -> None:
    for options in (("--appendonly", "yes", "--appendfsync", "everysec"), ()):
        server = start(*options)
        with opened(server.url, tmp_path) as app:
            for number in range(30):
                app.memory().remember(f"note {number} about nothing", entities=["Ada"])
            server.kill()
        server.start()
        with opened(server.url, tmp_path) as app:
            if options:
                assert texts(app) <= {f"note {number} about nothing" for number in range(30)}
            else:
                assert app.workspaces() == []
            app.memory().remember("life goes on")
            assert app.memory().care.doctor().findings == ()


CHILD = """
import sys
from memsweep.app import make_app
from memsweep.settings import load_settings
app = make_app(load_settings({"MEMSWEEP_HOME": sys.argv[1], "MEMSWEEP_STORE": sys.argv[2]}))
memory = app.memory()
for number in range(100000):
    memory.remember(f"child {sys.argv[3]} says {number}", entities=[f"Thing {number}"])
    print(number, flush=True)
    if number % 5 == 4:
        found = memory.search(f"child {sys.argv[3]} says {number}").hits[0]
        memory.delete(found.passage.memory_id, confirm=True)
"""


def test_a_killed_client_of_falkor_leaves_nothing_half_done(start: Start, tmp_path: Path) -> None:
    server = start()
    for round_number in range(4):
        command = [*warm_python(), "-c", CHILD, str(tmp_path / "home"), server.url, str(round_number)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        for _ in range(7 + 3 * round_number):
            assert child.stdout.readline()
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        end_leases(server)
    with opened(server.url, tmp_path) as app:
        app.memory().remember("afterwards")
        assert app.memory().care.doctor().findings == ()
        assert len(texts(app)) >= 4 * 5


def test_the_lease_of_a_dead_writer_of_falkor_ends_by_itself(start: Start, tmp_path: Path) -> None:
    server = start()
    with opened(server.url, tmp_path) as app, server.client() as client:
        app.memory().remember("one")
        graph = app.engine.open(DEFAULT_WORKSPACE)._graph
        key = f"{graph.name}:writer"
        with graph.writing():
            assert 0 < client.pttl(key) <= 10_000
        client.set(key, "of a dead writer", px=200)
        app.memory().remember("two")
        assert texts(app) == {"one", "two"}


# together


def test_eight_clients_of_falkor_on_one_workspace_lose_nothing(start: Start, tmp_path: Path) -> None:
    server = start()
    each = 25
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with opened(server.url, tmp_path) as app:
                for turn in range(each):
                    app.memory().remember(f"writer {number} turn {turn}", entities=["Shared"], tags=[f"w{number}"])
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
        assert app.memory().care.doctor().findings == ()


def test_a_promoted_replica_of_falkor_has_all_that_both_acknowledged(start: Start, tmp_path: Path) -> None:
    primary = start()
    replica = start("--replicaof", "127.0.0.1", str(primary.port))
    with primary.client() as client:
        wait_for(lambda: client.info("replication")["connected_slaves"] == 1)
        with opened(primary.url, tmp_path) as app:
            for number in range(40):
                app.memory().remember(f"replicated {number}")
            client.wait(1, 5000)
            store = app.engine.open(DEFAULT_WORKSPACE)
            store._graph.link.write("WAIT", 1, 5000)
            wait_for(lambda: _offset(primary) == _offset(replica))
    primary.kill()
    with replica.client() as client:
        client.execute_command("REPLICAOF", "NO", "ONE")
    with opened(replica.url, tmp_path) as app:
        assert texts(app) == {f"replicated {number}" for number in range(40)}
        app.memory().remember("on the new primary")
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
            app.memory(name).remember(f"what {name} knows", entities=["Ada"])
        assert [item.id for item in app.workspaces()] == sorted(names)
        every_tool(app, names[0], tmp_path)
        held = [{name for name in names if _holds(node, f"memsweep:{{{name}}}")} for node in nodes]
        assert all(held)
        nodes[2].kill()
        wait_for(lambda: _sees_failure(nodes[0]))
    with opened(nodes[0].url, tmp_path) as app:
        for name in held[0] | held[1]:
            app.memory(name).remember("still here")
            assert texts(app, name) >= {"still here", f"what {name} knows"}
        for name in held[2]:
            with pytest.raises((StoreAway, StoreBusy), match=r"reached|down"):
                app.memory(name).stats()


def every_tool(app: App, name: str, tmp_path: Path) -> None:
    memory = app.memory(name)
    made = memory.remember("to be deleted")
    receipt = memory.delete(made.memory_id, confirm=True)
    memory.sweep.undo(receipt.id)
    assert memory.search("deleted").hits[0].passage.memory_id == made.memory_id
    memory.context("session").add([{"text": "a message", "type": "message"}])
    memory.care.backup(tmp_path / "backup")
    app.restore(tmp_path / "backup", name, replace=True)
    assert memory.stats().total_memories == 2
    assert memory.care.doctor().findings == ()
    app.copy_workspace(name, "", f"sqlite:{tmp_path / 'away'}")
    app.delete_workspace(name, confirm=True)
    assert app.copy_workspace(name, f"sqlite:{tmp_path / 'away'}", "").seal.memories == 2
    assert memory.search("deleted").hits[0].passage.memory_id == made.memory_id


def test_a_client_of_a_falkor_cluster_finds_a_slot_that_has_moved(start: Start) -> None:
    nodes = [_cluster_node(start) for _ in range(2)]
    _join(nodes)
    link = Link(nodes[0].url)
    with nodes[0].client() as first, nodes[1].client() as second:
        owner = second.execute_command("CLUSTER", "MYID")
        slot = first.execute_command("CLUSTER", "KEYSLOT", "{b}")
        assert link.send_all([("SET", "{b}a", 1), ("DEL", "{b}a")])[1] == 1
        assert slot < 16384 // 2, "the first node has it"
        for client in (second, first):
            client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", owner)
        assert link.send_all([("SET", "{b}a", 2), ("GET", "{b}a")])[1] == b"2"
        assert second.get("{b}a") == b"2"
    link.close()


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
        wait_for(lambda client=client: client.cluster("info")["cluster_state"] == "ok")  # type: ignore[misc]
        wait_for(lambda client=client: client.cluster("info")["cluster_slots_assigned"] == "16384")  # type: ignore[misc]
        wait_for(lambda client=client: client.cluster("info")["cluster_known_nodes"] == str(len(nodes)))  # type: ignore[misc]
        client.close()


def _holds(node: Server, key: str) -> bool:
    with node.client() as client:
        return key.encode() in set(client.scan_iter(match="memsweep:{*}", count=1000))


def _sees_failure(node: Server) -> bool:
    with node.client() as client:
        return "fail" in str(client.cluster("nodes"))


def test_the_engine_of_the_setting_is_falkor(start: Start, tmp_path: Path) -> None:
    with opened(start().url, tmp_path) as app:
        assert isinstance(app.engine, FalkorEngine)
        app.memory().remember("one")
        assert app.memory().stats().engine == "falkor"
    assert not (tmp_path / "home" / "workspaces").exists()
