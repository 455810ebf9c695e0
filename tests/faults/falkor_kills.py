"""Campaign: FalkorDB with clients killed at their commands, and servers killed, paused and replaced.

A seed does one of these a few times. A client that dies at a command has done all of its operation or nothing. A
server that syncs its log loses nothing acknowledged; one that is paused gives time-outs in a sentence, and what was
under way is whole afterwards; a promoted replica has all that it had acknowledged.
"""

import atexit
import contextlib
import random
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from memsweep.app import App
from memsweep.errors import StoreError
from memsweep.store.falkor.engine import FalkorEngine
from tests.falkor import killed_index
from tests.falkor.bookkeeper import Bookkeeper
from tests.falkor.both_engines import Side
from tests.falkor.killed_at_each_command import ALL_OPERATIONS, Bench, copied, killed
from tests.falkor.servers import opened, texts
from tests.faults import doors
from tests.faults.falkor_acts import ACTS, frozen_app, furnish
from tests.support.falkor import SentinelProcess, Server
from tests.support.waiting import wait_for

_CLIENT_KILLS = 6
_SERVER_KILLS = 3
_LONGEST_SECONDS = 0.8


@cache
def folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="memsweep-falkor-kills-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def shared_server() -> Server:
    """For clients that die; it lives as long as this process."""
    doors.warm_up()
    server = Server(folder() / "shared")
    atexit.register(server.stop)
    return server


@contextlib.contextmanager
def servers(*options: tuple[str, ...], durable: bool = True) -> Iterator[list[Server]]:
    """Servers of one seed, each in a folder of its own."""
    doors.warm_up()
    own = Path(tempfile.mkdtemp(dir=folder()))
    made: list[Server] = []
    try:
        for number, lines in enumerate(options):
            lines = tuple(str(made[0].port) if word == "PRIMARY" else word for word in lines)
            made.append(Server(own / str(number), *lines, durable=durable))
        yield made
    finally:
        for server in made:
            server.stop()
        shutil.rmtree(own, ignore_errors=True)


def run(seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    place = seed % len(_WAYS)
    way, turn = _WAYS[place], 2 * (seed // len(_WAYS)) + place // len(_CLIENTS) % 2
    try:
        return way(chance, turn)
    except AssertionError as wrong:
        return {"violations": [f"{way.__name__}: {wrong}"]}


# clients


def _collection(chance: random.Random, turn: int) -> dict[str, Any]:
    """An operation of the collector or of the graph, with a clock and ids that stand still."""
    name = sorted(ALL_OPERATIONS)[turn % len(ALL_OPERATIONS)]
    operation, server = ALL_OPERATIONS[name], shared_server()
    url = f"{server.url}/collection"
    with copied(url, operation) as (engine, given, ticks):

        def act() -> None:
            operation.run(Side(FalkorEngine(url), count(ticks)), given)  # type: ignore[arg-type]

        return _kill_client(name, Bench(engine, server.port), act, chance)


def _call(chance: random.Random, turn: int) -> dict[str, Any]:
    """Any other operation that writes, through the app."""
    name = sorted(ACTS)[turn % len(ACTS)]
    server = shared_server()
    with server.client() as client:
        client.flushall()
    url = f"{server.url}/call"
    variables = {"MEMSWEEP_HOME": str(folder() / "home"), "MEMSWEEP_STORE": url}
    engine = FalkorEngine(url)
    given = furnish(variables)

    def act() -> None:
        ACTS[name](frozen_app(variables), given)

    return _kill_client(name, Bench(engine, server.port), act, chance)


def _indexed(chance: random.Random, turn: int) -> dict[str, Any]:
    """An index run, which is many transactions: the next run completes it."""
    server = shared_server()
    with server.client() as client:
        client.flushall()
    own = Path(tempfile.mkdtemp(dir=folder()))
    said = killed_index.main(server.port, own, _CLIENT_KILLS, seed=turn)
    return {"kills": said["points"], "client_kills": said["points"], "violations": said["problems"]}


def _kill_client(name: str, bench: Bench, act: Callable[[], None], chance: random.Random) -> dict[str, Any]:
    """Let it die a few times at a command, more often near the end; whether it is as before or done, each time."""

    def choose(commands: list[str]) -> list[tuple[int, bool]]:
        last = len(commands)
        return [
            (chance.randint(max(1, last - 8) if chance.random() < 0.6 else 1, last), chance.random() < 0.5)
            for _ in range(_CLIENT_KILLS)
        ]

    with contextlib.closing(bench):
        told = killed(bench, act, choose, again=True).told()
    violations = [f"{name}: {said}" for said in told["problems"]]
    return {"kills": _CLIENT_KILLS, "client_kills": _CLIENT_KILLS, "violations": violations}


# servers


def _server_killed(chance: random.Random, turn: int) -> dict[str, Any]:
    book = Bookkeeper()
    with servers(()) as (server,):
        for _ in range(_SERVER_KILLS):
            _work_until(book, server.url, chance, server.kill)
            server.start()
            _look(book, server)
    return {"kills": _SERVER_KILLS, "server_kills": _SERVER_KILLS, "violations": []}


def _server_paused(chance: random.Random, turn: int) -> dict[str, Any]:
    book = Bookkeeper()
    with servers(()) as (server,):
        for _ in range(_SERVER_KILLS):
            said = _work_until(book, f"{server.url}?timeout=1", chance, server.freeze)
            server.thaw()
            assert "answer" in said, f"a time-out says: {said}"
            _look(book, server)
    return {"pauses": _SERVER_KILLS, "violations": []}


def _work_until(book: Bookkeeper, url: str, chance: random.Random, strike: Callable[[], None]) -> str:
    """Work until the server is struck; what the call that met it said."""
    with _opened(url) as app:
        timer = threading.Timer(chance.uniform(0.05, _LONGEST_SECONDS), strike)
        timer.start()
        try:
            book.work(app, chance)
        except StoreError as error:
            said = str(error)
        finally:
            timer.join()
    return said


def _look(book: Bookkeeper, server: Server) -> None:
    """Nothing acknowledged is lost, nothing is half done, the doctor is content, the next call works."""
    with server.client() as client:
        wait_for(lambda: _is_at_rest(client))  # what was sent is done even if nobody waits for it
    with _opened(server.url) as app:
        assert app.workspaces() or not book.live, "the workspace is gone"
        if app.workspaces():
            graph = app.engine.open("default")._graph
            graph.link.write("DEL", f"{graph.name}:writer")  # the lease would end by itself
            book.compare(app)
            findings = app.memory().care.doctor().findings
            assert findings == (), f"doctor: {findings}"
        book.live.add(app.memory().remember(f"the next call {len(book.live)}").memory_id)


def _is_at_rest(client: Any) -> bool:
    _, running, _, waiting, *_ = client.execute_command("GRAPH.INFO")
    return len(client.client_list()) == 1 and not running and not waiting


# replicas


def _promoted(chance: random.Random, turn: int) -> dict[str, Any]:
    """The primary is killed, the replica made primary by hand."""
    with servers((), ("--replicaof", "127.0.0.1", "PRIMARY"), durable=False) as (primary, replica):
        with primary.client() as client:
            wait_for(lambda: client.info("replication")["connected_slaves"] == 1)
        with _opened(primary.url) as app:
            both = _add_until(app, chance, primary.kill)
        with replica.client() as client:
            client.execute_command("REPLICAOF", "NO", "ONE")
        _has_all(replica.url, both)
    return {"kills": 1, "failovers": 1, "violations": []}


def _failed_over(chance: random.Random, turn: int) -> dict[str, Any]:
    """The primary is killed, a sentinel promotes the replica, the same client goes on."""
    with servers((), ("--replicaof", "127.0.0.1", "PRIMARY"), durable=False) as (primary, replica):
        with primary.client() as client:
            wait_for(lambda: client.info("replication")["connected_slaves"] == 1)
        sentinel = SentinelProcess(Path(tempfile.mkdtemp(dir=folder())), "team", primary.port)
        try:
            wait_for(lambda: sentinel.replicas() == 1)
            with _opened(sentinel.url) as app:
                both = _add_until(app, chance, primary.kill)
                wait_for(lambda: sentinel.primary() == replica.port)
                wait_for(lambda: _writes(app))
                assert texts(app) >= both, f"lost: {both - texts(app)}"
            _has_all(replica.url, both)
        finally:
            sentinel.stop()
    return {"kills": 1, "failovers": 1, "violations": []}


def _add_until(app: App, chance: random.Random, strike: Callable[[], None]) -> set[str]:
    """Add until the primary is struck; what the replica had acknowledged by then."""
    both: set[str] = set()
    number, link = 0, None
    timer = threading.Timer(chance.uniform(0.3, 1.2), strike)
    timer.start()
    try:
        while True:
            number += 1
            app.memory().remember(f"kept by both {number}", entities=["Ada"])
            link = link or app.engine.open("default")._graph.link
            if link.write("WAIT", 1, 5000) >= 1:
                both.add(f"kept by both {number}")
    except StoreError:
        pass
    finally:
        timer.join()
    return both


def _writes(app: App) -> bool:
    with contextlib.suppress(StoreError):
        app.memory().remember("after the failover")
        return True
    return False


def _has_all(url: str, both: set[str]) -> None:
    with _opened(url) as app:
        if both:
            assert texts(app) >= both, f"lost: {both - texts(app)}"
        app.memory().remember("on the new primary")
        findings = app.memory().care.doctor().findings
        assert findings == (), f"doctor: {findings}"


@contextlib.contextmanager
def _opened(url: str) -> Iterator[App]:
    with opened(url, folder()) as app:
        yield app


_CLIENTS, _SERVERS = (_collection, _call), (_server_killed, _server_killed, _server_paused)
_WAYS = (*_CLIENTS, *_CLIENTS, *_SERVERS, _promoted, _failed_over, _indexed)
