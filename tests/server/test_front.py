"""The first questions are answered while the SDK is being imported, and each line has one answer, whenever it came.

The import waits until the test lets it go on: what is answered before then, the front has answered. Most servers are
forked from a process that has imported the SDK, and wait all the same; a few are executed.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scripts.record_answers import LISTS, methods, request

from memsweep.server.handshake import HANDSHAKE_VERSIONS, MODERN_VERSION
from tests.support import contents
from tests.support.client import RawServer
from tests.support.commands import environment, memsweep
from tests.support.waiting import PATIENCE, wait_for
from tests.support.warm_python import warm_python

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="pipes cannot be watched there, and nothing is answered early"),
]
VERSIONS = (*HANDSHAKE_VERSIONS, MODERN_VERSION)


class HeldServer(RawServer):
    """A server whose import of the SDK waits."""

    def __init__(self, python: list[str], home: Path, *arguments: str, **settings: str) -> None:
        self._began, self._released = home.parent / "began", home.parent / "released"
        for pipe in (self._began, self._released):
            os.mkfifo(pipe)
        command = [*python, "-m", "tests.server.held", str(self._began), str(self._released), *arguments]
        super().__init__(command, environment(home, **settings))

    def wait_until_it_imports(self) -> None:
        with self._began.open():
            pass

    def release(self) -> None:
        with self._released.open("w"):
            pass


@contextmanager
def held_server(home: Path, *arguments: str, executed: bool = False, **settings: str) -> Iterator[HeldServer]:
    server = HeldServer([sys.executable] if executed else warm_python(), home, *arguments, **settings)
    try:
        yield server
    finally:
        server.end()


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()


def _call(number: Any, version: str, tool: str = "add_memory", **arguments: Any) -> dict[str, Any]:
    message = request(number, "tools/call", version)
    return {**message, "params": {**message["params"], "name": tool, "arguments": arguments}}


def _heard(server: RawServer, count: int) -> list[dict[str, Any]]:
    return [json.loads(server.line()) for _ in range(count)]


def _ended(server: RawServer, status: int = 0) -> None:
    found, rest, log = server.hang_up()
    assert (found, rest) == (status, b"")
    assert b"Traceback" not in log


@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_questions_are_answered_before_the_sdk_is_there(home: Path, version: str) -> None:
    with held_server(home, executed=version == VERSIONS[-1]) as server:
        for number, method in enumerate(methods(version)):
            server.send_bytes(_line(request(number, method, version)))
            (answer,) = _heard(server, 1)
            assert answer["id"] == number
            assert "result" in answer
        server.wait_until_it_imports()
        server.release()
        server.send_bytes(_line(_call("later", version, text="hello")))
        (answer,) = _heard(server, 1)
        assert answer["id"] == "later"
        assert answer["result"]["isError"] is False
        _ended(server)


def test_the_server_knows_its_client_although_it_did_not_answer_it(home: Path) -> None:
    with held_server(home, executed=True) as server:
        assert server.initialize()["result"]["protocolVersion"] == "2025-11-25"
        server.wait_until_it_imports()
        server.release()
        added = server.call("add_memory", {"text": "hello"})["result"]["structuredContent"]
        server.call("delete_memory", {"memory_id": added["memory_id"], "confirm": True})
        _ended(server)
    (event, *_) = memsweep("audit", "--json", home=home).json["events"]
    assert event["actor"] == "mcp:test"


@pytest.mark.parametrize("version", ["2025-11-25", MODERN_VERSION])
def test_calls_that_come_early_wait_and_have_one_answer_each_in_order(home: Path, version: str) -> None:
    first, *others = methods(version)
    lines = [request(first, first, version), _call("early", version, text="hello")]
    lines += [request(method, method, version) for method in others] + [request("none", "no/such", version)]
    with held_server(home) as server:
        for line in lines:
            server.send_bytes(_line(line))
        assert _heard(server, 1)[0]["id"] == first
        server.wait_until_it_imports()
        server.release()
        answers = {answer["id"]: answer for answer in _heard(server, len(lines) - 1)}
        assert set(answers) == {"early", "none", *others}
        assert answers["early"]["result"]["isError"] is False
        assert answers["none"]["error"]["code"] == -32601
        _ended(server)


FIRST_LINES: dict[str, tuple[bytes, int | None]] = {
    "an unknown version": (_line(request(7, "initialize", "1999-01-01")), None),
    "no parameters": (b'{"jsonrpc":"2.0","id":7,"method":"initialize"}', -32602),
    "capabilities that are none": (
        _line({**request(7, "initialize", "2025-11-25")}).replace(b"{}", b'{"roots": 5}'),
        -32602,
    ),
    "a list before the handshake": (_line(request(7, "tools/list", "2025-11-25")), -32602),
    "an unknown method": (_line(request(7, "no/such", "2025-11-25")), -32601),
    "garbage with an id": (b'{"jsonrpc":"2.0","id":7,"method":', -32700),
    "a version of the newer generation that is unknown": (
        _line(request(7, "server/discover", MODERN_VERSION)).replace(b"2026-07-28", b"2099-01-01"),
        -32022,
    ),
}


@pytest.mark.parametrize("name", FIRST_LINES)
def test_what_the_front_leaves_alone_is_answered_once_by_the_sdk(home: Path, name: str) -> None:
    line, code = FIRST_LINES[name]
    with held_server(home) as server:
        server.send_bytes(line)
        server.wait_until_it_imports()
        server.release()
        (answer,) = _heard(server, 1)
        assert answer["id"] == 7
        assert answer.get("error", {}).get("code") == code, answer
        _ended(server)


@pytest.mark.parametrize("cut", [1, 10, -1, -3])
def test_a_line_may_be_cut_where_the_server_takes_over(home: Path, cut: int) -> None:
    call = json.dumps(_call("cut", "2025-11-25", text="in pieces 🎉"), ensure_ascii=False).encode() + b"\n"
    cut = call.index("🎉".encode()) + 2 if cut == -3 else cut
    with held_server(home) as server:
        server.initialize()
        assert server.process.stdin is not None
        server.process.stdin.write(call[:cut])
        server.process.stdin.flush()
        server.wait_until_it_imports()
        server.release()
        server.process.stdin.write(call[cut:])
        server.process.stdin.flush()
        (answer,) = _heard(server, 1)
        assert answer["result"]["isError"] is False
        _ended(server)
    assert contents.texts_in(home) == ["in pieces 🎉"]


@pytest.mark.parametrize("count", [10, 200])
def test_answers_that_nobody_reads_yet_are_neither_lost_nor_torn(home: Path, count: int) -> None:
    """More than a pipe takes, and more than the front answers: the server sends the rest."""
    with held_server(home, "--profile", "full") as server:
        server.initialize()
        for number in range(count):
            server.send_bytes(_line(request(number, "tools/list", "2025-11-25")))
        server.wait_until_it_imports()
        server.release()
        answers = _heard(server, count)
        assert sorted(answer["id"] for answer in answers) == list(range(count))
        assert [answer["id"] for answer in answers[:10]] == list(range(10))
        assert len({json.dumps(answer["result"]) for answer in answers}) == 1
        _ended(server)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_during_the_import_ends_it_without_a_traceback(home: Path, number: signal.Signals) -> None:
    with held_server(home, executed=True) as server:
        server.initialize()
        server.wait_until_it_imports()
        server.process.send_signal(number)
        _ended(server, -number)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_that_asks_and_closes_its_end_has_its_answers_in_order(home: Path, version: str) -> None:
    with held_server(home) as server:
        for method in methods(version):
            server.send_bytes(_line(request(method, method, version)))
        assert server.process.stdin is not None
        server.process.stdin.close()
        server.process.stdin = None
        server.wait_until_it_imports()
        server.release()
        assert [answer["id"] for answer in _heard(server, len(methods(version)))] == list(methods(version))
        _ended(server)


def test_half_a_line_at_the_end_is_answered(home: Path) -> None:
    with held_server(home) as server:
        server.initialize()
        assert server.process.stdin is not None
        server.process.stdin.write(b'{"jsonrpc":"2.0","id":9,"meth')
        server.process.stdin.close()
        server.process.stdin = None
        server.wait_until_it_imports()
        server.release()
        (answer,) = _heard(server, 1)
        assert (answer["id"], answer["error"]["code"]) == (9, -32700)
        _ended(server)


def test_a_client_that_stops_reading_during_the_import_ends_the_server(home: Path) -> None:
    with held_server(home) as server:
        server.initialize()
        server.wait_until_it_imports()
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.send_bytes(_line(request(5, "tools/list", "2025-11-25")))
        server.release()
        wait_for(lambda: server.process.poll() is not None, "the server to end")
        assert server.process.returncode == 0
        assert server.process.stderr is not None
        assert b"Traceback" not in server.process.stderr.read()


@pytest.mark.parametrize("found", ["", "{", "{}", '{"profiles": {"default": []}}'])
def test_without_recorded_answers_the_sdk_answers_everything(home: Path, found: str) -> None:
    home.parent.joinpath("recorded.json").write_text(found)
    script = "import pathlib, sys, memsweep.server.handshake as handshake\n"
    script += f"handshake.RECORDED = pathlib.Path({str(home.parent / 'recorded.json')!r})\n"
    script += "sys.argv = ['memsweep', 'serve']\nfrom memsweep.__main__ import main\nmain()"
    server = RawServer([*warm_python(), "-c", script], environment(home))
    assert server.initialize()["result"]["serverInfo"]["name"] == "memsweep"
    assert len(server.ask("tools/list")["result"]["tools"]) > 5
    _ended(server)
    server.end()


def test_a_broken_setting_is_said_before_anything_is_answered(home: Path) -> None:
    with held_server(home, MEMSWEEP_CHUNKING_SIZE="many") as server:
        server.send_bytes(_line(request(1, "initialize", "2025-11-25")))
        status, out, err = server.hang_up()
    assert (status, out) == (2, b"")
    assert b"chunking.size" in err


def test_a_socket_is_answered_early_too(home: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, open(os.devnull, "wb") as nowhere:
        command = [*warm_python(), "-m", "memsweep", "serve"]
        server = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=nowhere, env=environment(home))
        theirs.close()
        ours.settimeout(PATIENCE)
        lines = [request(1, "initialize", "2025-11-25"), *(request(name, name, "2025-11-25") for name in LISTS)]
        ours.sendall(b"".join(_line(line) + b"\n" for line in lines))
        ours.shutdown(socket.SHUT_WR)
        out = b""
        while part := ours.recv(1 << 16):
            out += part
        assert [json.loads(line)["id"] for line in out.splitlines()] == [1, *LISTS]
        assert server.wait(PATIENCE) == 0


def test_nothing_but_the_standard_library_and_small_parts_is_imported_before_the_front() -> None:
    script = "import sys, memsweep.server.start; print(*{name.partition('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    ours_and_small = {"memsweep", "platformdirs"}
    before = subprocess.run([sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True)
    others = {*ran.stdout.split()} - {*sys.stdlib_module_names, *before.stdout.split(), *ours_and_small}
    assert others == set()
