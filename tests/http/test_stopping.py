"""A server that stops finishes what has begun; one that is killed has lost nothing that it acknowledged."""

import json
import signal
import threading
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, make_app
from memsweep.settings import load_settings
from tests.support import store_files
from tests.support.commands import run_warm
from tests.support.engines import ENGINES, Home
from tests.support.http import HttpServer, open_session, rpc, rpc_body, rpc_headers, serving
from tests.support.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.slow


def open_app(home: Path) -> App:
    return make_app(load_settings({"MEMSWEEP_HOME": str(home)}))


def test_sigterm_finishes_what_has_begun_and_takes_nothing_new(home: Path, log: Path) -> None:
    """Writers wait for the lock of the store, which this test holds until the server has been told to stop."""
    app = open_app(home)
    app.memory().remember("The store is there.")
    answers: list[Any] = []
    with serving(home, log, warm=False) as server:
        secret = server.first_token

        session = open_session(server, secret)

        def write(number: int) -> None:
            text = f"Begun before the end: {number}."
            modern = number % 2
            answers.append(
                server.call(secret, "add_memory", text=text)
                if modern
                else _call(server, session, number + 2, "add_memory", text=text)
            )

        writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        head = [f"{name}: {value}" for name, value in {**session, "accept": "text/event-stream"}.items()]
        lines = ["GET /mcp HTTP/1.1", f"host: 127.0.0.1:{server.port}", *head, "", ""]
        listening = server.raw("\r\n".join(lines).encode())
        assert b"200 OK" in listening.recv(1 << 16)
        with store_files.held(home):
            for writer in writers:
                writer.start()
            wait_for(lambda: _in_progress(server, secret) >= len(writers) + 2, "the writers to have begun")
            server.process.send_signal(signal.SIGTERM)
            wait_for(lambda: not _connects(server), "the listener to be closed")
            assert server.process.poll() is None
            assert answers == []
        for writer in writers:
            writer.join(PATIENCE)
        assert [answer.get("isError", False) for answer in answers] == [False] * len(writers)
        assert _rest(listening).endswith(b"0\r\n\r\n")  # the proper end of a stream
        assert server.process.wait(PATIENCE) == 0
    assert app.memory().stats().total_memories == 1 + len(writers)
    app.close()


def test_a_server_stops_although_a_call_goes_on(home: Path, log: Path) -> None:
    """The call waits for a lock that this test holds for as long as it lasts."""
    app = open_app(home)
    app.memory().remember("The store is there.")
    app.close()
    server = HttpServer(home, log, [], module="tests.http.hasty_server")
    said = {"name": "add_memory", "arguments": {"text": "This is never written."}}
    headers = rpc_headers(server.first_token, "tools/call", said)
    try:
        with store_files.held(home), closing(server.connect()) as connection:
            connection.request("POST", "/mcp", rpc_body("tools/call", said), headers)
            wait_for(lambda: _in_progress(server, server.first_token) >= 2, "the call to have begun")
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(PATIENCE / 2) == -signal.SIGALRM  # before the lock would have been given up
    finally:
        server.process.kill()
        server.process.wait(PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_before_the_loop_listens_to_signals_ends_the_server(home: Path, number: signal.Signals) -> None:
    told_early = f"""
import signal, sys, uvicorn
from memsweep.cli import run
serve = uvicorn.Server.serve
uvicorn.Server.serve = lambda *given, **named: signal.raise_signal({number:d}) or serve(*given, **named)
sys.exit(run(["serve", "--http", "--port", "0"]))
"""
    assert run_warm("-c", told_early, home=home).status == 0


@pytest.mark.parametrize("engine_kind", ENGINES)
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, log: Path, engine_kind: str) -> None:
    place = Home(engine_kind, tmp_path / "home")
    acknowledged: list[str] = []
    enough = threading.Event()
    with serving(place.folder, log, warm=False, **place.settings) as server:
        secret = server.first_token

        def write(number: int) -> None:
            connection = server.connect()
            for count in range(10_000):
                said = {"name": "add_memory", "arguments": {"text": f"Entry {number}.{count} of the log book."}}
                try:
                    answer = rpc(connection, secret, "tools/call", said)
                except (OSError, HTTPException):  # cut off
                    connection.close()
                    return
                acknowledged.append(answer.json["result"]["structuredContent"]["memory_id"])
                if len(acknowledged) >= 60:
                    enough.set()

        writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for writer in writers:
            writer.start()
        assert enough.wait(PATIENCE)
        server.process.kill()
        for writer in writers:
            writer.join(PATIENCE)
        server.process.wait(PATIENCE)
    app = make_app(load_settings(place.variables))
    memory = app.memory()
    assert [each for each in acknowledged if not memory.get(each)] == []
    assert memory.care.doctor().findings == ()
    app.close()
    place.close()


def _call(server: HttpServer, session: dict[str, str], number: int, tool: str, **arguments: Any) -> Any:
    asked = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    answer = server.ask("POST", "/mcp", json.dumps(asked).encode(), **session)
    (data,) = (line for line in answer.text.splitlines() if line.startswith("data: {"))
    return json.loads(data.removeprefix("data: "))["result"]


def _in_progress(server: HttpServer, secret: str) -> int:
    text = server.ask("GET", "/metrics", authorization=f"Bearer {secret}").text
    (line,) = (each for each in text.splitlines() if each.startswith("memsweep_http_requests_in_progress "))
    return int(line.split()[1])


def _connects(server: HttpServer) -> bool:
    try:
        server.raw().close()
    except ConnectionRefusedError:
        return False
    return True


def _rest(connection: Any) -> bytes:
    said = b""
    with connection:
        while part := connection.recv(1 << 16):
            said += part
    return said
