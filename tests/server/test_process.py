"""The server as a process: what is on its pipes, when it touches the disk, how it ends."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from memsweep.app import App
from tests.support import contents, store_files, unprivileged
from tests.support.client import MODES, connected, raw_server
from tests.support.commands import ORDINARY
from tests.support.counts import rounds
from tests.support.embedding_server import EmbeddingServer
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

VERSIONS = ("2024-11-05", "2025-11-25")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_handshake_version_is_answered(home: Path, version: str) -> None:
    with raw_server(home) as server:
        answer = server.initialize(version)["result"]
        assert answer["protocolVersion"] == version
        assert answer["serverInfo"]["name"] == "memsweep"
        assert "add_memory" in answer["instructions"]
        assert server.call("add_memory", {"text": "x"})["result"]["isError"] is False
        status, rest, log = server.hang_up()
    assert (status, rest) == (0, b"")
    assert b"Traceback" not in log


def test_initialize_and_tools_list_leave_the_disk_alone(home: Path, tmp_path: Path) -> None:
    with raw_server(home, executed=True) as server:
        server.initialize()
        assert len(server.ask("tools/list")["result"]["tools"]) > 5
        server.ask("ping")
        assert list(tmp_path.iterdir()) == []
        status, _, _ = server.hang_up()
    assert status == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", MODES)
def test_initialize_is_answered_while_the_data_folder_is_unreadable(home: Path, mode: str, app: App) -> None:
    app.memory().remember("precious")
    app.close()
    home.chmod(0)
    try:
        with raw_server(home, prefix=ORDINARY) as server:
            if mode == "legacy":
                answer = server.initialize()
            else:
                meta = {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
                answer = server.ask("server/discover", {"_meta": meta})
            if server.process.poll() == unprivileged.CANNOT:
                pytest.skip("root cannot become an ordinary user here")
            assert "result" in answer, answer
            if mode == "legacy":
                for tool, arguments in [("add_memory", {"text": "x"}), ("get_stats", {}), ("list_workspaces", {})]:
                    result = server.call(tool, arguments)["result"]
                    assert result["isError"]
                    assert str(home) in result["content"][0]["text"]
            server.hang_up()
    finally:
        home.chmod(0o700)
    assert len(contents.ids_in(home)) == 1


def test_a_home_that_appears_later_is_used(home: Path, tmp_path: Path, app: App) -> None:
    app.memory().remember("precious")
    app.close()
    aside = tmp_path / "aside"
    home.rename(aside)
    with raw_server(home) as server:
        server.initialize()
        assert server.call("get_stats", {})["result"]["structuredContent"]["total_memories"] == 0
        shutil.copytree(aside, home)
        assert server.call("get_stats", {})["result"]["structuredContent"]["total_memories"] == 1


CALL = b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "%s", "arguments": %s}}'
JUNK = [
    b"",
    b"   ",
    b"hello",
    b"{",
    b"[]",
    b"null",
    b"5",
    b'"text"',
    b"{}",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 8, "method": "no/such/method", "params": {}}',
    b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {}}',
    b'{"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": {"name": 5}}',
    b'{"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"name": "add_memory", "arguments": []}}',
    b'{"jsonrpc": "2.0", "id": 12, "method": "tools/call", "params": "x"}',
    CALL % (13, b"add_memory", b'{"text": "\\ud800"}'),
    CALL % (14, b"get_memory", b'{"memory_id": "\\udfff"}'),
    b'{"jsonrpc": "2.0", "id": 15, "result": {}}',
    b'{"jsonrpc": "2.0", "method": "notifications/nonsense"}',
    b"\xff\xfe\x00\x01",
    b'{"jsonrpc": "2.0", "id": 16, "method": "ping", "params": {"x": "\xff"}}',
    b"[" * 2000,
    b'{"a":' * 2000,
    b"\0" * 100,
    b"x" * 200_000,
]


def test_nothing_but_protocol_is_on_standard_output_whatever_comes_in(home: Path) -> None:
    with raw_server(home) as server:
        for junk in JUNK:
            server.send_bytes(junk)
        server.initialize()
        for junk in JUNK:
            server.send_bytes(junk)
        assert "result" in server.ask("ping")
        result = server.call("add_memory", {"text": "still alive"})["result"]
        assert result["isError"] is False
        status, rest, log = server.hang_up()
    assert status == 0
    for line in [*server.lines, *rest.splitlines()]:
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        assert {"result", "error", "method"} & message.keys()
    assert b"still alive" not in log
    assert contents.texts_in(home) == ["still alive"]


def test_debugging_goes_to_standard_error(home: Path) -> None:
    with raw_server(home, MEMSWEEP_LOG_LEVEL="DEBUG") as server:
        server.initialize()
        server.call("add_memory", {"text": "x"})
        status, rest, _ = server.hang_up()
    assert (status, rest) == (0, b"")


@pytest.mark.parametrize("encoding", ["ascii", "utf-16"])
def test_standard_input_is_read_as_utf8_whatever_the_platform_says(home: Path, encoding: str) -> None:
    text = "naïve 漢字 🎉"
    with raw_server(
        home, executed=True, PYTHONIOENCODING=encoding, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    ) as server:
        server.initialize()
        request = {"name": "add_memory", "arguments": {"text": text}}
        message = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": request}
        server.send_bytes(json.dumps(message, ensure_ascii=False).encode())
        added = server.answer(99)["result"]["structuredContent"]
        number = server.send("tools/call", {"name": "get_memory", "arguments": {"memory_id": added["memory_id"]}})
        assert server.answer(number)["result"]["structuredContent"]["text"] == text
    assert contents.texts_in(home) == [text]


def test_a_client_that_hangs_up_in_the_middle_of_a_call_leaves_nothing_half(home: Path) -> None:
    """The embedder is asked and does not answer: the call is in its middle for as long as the test wants."""
    with EmbeddingServer() as embedder:
        settings = embedder.settings("ollama")
        with raw_server(home, **settings) as server:
            server.initialize()
            server.call("add_memory", {"text": "before"})
            asked = len(embedder.asked)
            embedder.mood = "silent"
            server.send("tools/call", {"name": "add_memory", "arguments": {"text": "the half one " * 500}})
            wait_for(lambda: len(embedder.asked) > asked, "the call to be in its middle")
            assert server.process.stdin is not None
            server.process.stdin.close()
            embedder.released.set()
            wait_for(lambda: server.process.poll() is not None, "the server to end")
            assert server.process.returncode == 0
    file = store_files.file_of(home)
    assert store_files.problems(file) == []
    assert contents.texts_in(home)[0] == "before"


def test_a_client_that_vanishes_while_it_is_answered_ends_the_server(home: Path, app: App) -> None:
    added = app.memory().remember("a long text " * 20_000)
    app.close()
    with raw_server(home) as server:
        server.initialize()
        for _ in range(10):  # more than a pipe takes
            server.send("tools/call", {"name": "get_memory", "arguments": {"memory_id": added.memory_id}})
        assert server.process.stdout is not None
        os.read(server.process.stdout.fileno(), 100)
        server.process.stdout.close()
        assert server.process.stdin is not None
        server.process.stdin.close()
        wait_for(lambda: server.process.poll() is not None, "the server to end")
    assert store_files.problems(store_files.file_of(home)) == []


def test_a_client_that_hangs_up_at_once_ends_the_server(home: Path) -> None:
    with raw_server(home, executed=True) as server:
        status, rest, log = server.hang_up()
    assert (status, rest) == (0, b"")
    assert b"Traceback" not in log
    assert not home.exists()


@pytest.mark.parametrize("times", range(rounds(1, 2)))
def test_hanging_up_while_it_warms_up_ends_it_cleanly(home: Path, times: int) -> None:
    with raw_server(home, executed=True) as server:
        server.initialize()
        server.ask("tools/list")
        status, _, log = server.hang_up()
    assert status == 0
    assert b"Traceback" not in log
    assert b"Fatal" not in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_ends_it_without_a_traceback(home: Path, number: signal.Signals) -> None:
    with raw_server(home, executed=True) as server:
        server.initialize()
        server.call("add_memory", {"text": "kept"})
        server.process.send_signal(number)
        wait_for(lambda: server.process.poll() is not None, "the server to end")
        assert server.process.returncode == -number
        assert server.process.stderr is not None
        assert b"Traceback" not in server.process.stderr.read()
    assert store_files.problems(store_files.file_of(home)) == []
    assert len(contents.ids_in(home)) == 1


def test_a_server_killed_in_the_middle_of_calls_loses_nothing_it_answered(home: Path) -> None:
    answered = set()
    for round_ in range(2):
        with raw_server(home, executed=True) as server:
            server.initialize()
            numbers = [
                server.send("tools/call", {"name": "add_memory", "arguments": {"text": f"round {round_} note {n}"}})
                for n in range(40)
            ]
            for _ in range(10):
                message = json.loads(server.line())
                assert message["id"] in numbers
                answered.add(message["result"]["structuredContent"]["memory_id"])
            server.process.kill()
    file = store_files.file_of(home)
    assert store_files.problems(file) == []
    assert answered <= set(contents.ids_in(home))


def test_calls_are_answered_while_another_one_waits(home: Path) -> None:
    with EmbeddingServer() as embedder, raw_server(home, **embedder.settings("ollama")) as server:
        server.initialize()
        server.call("add_memory", {"text": "before"})
        asked = len(embedder.asked)
        embedder.mood = "silent"
        slow = server.send("tools/call", {"name": "add_memory", "arguments": {"text": "slow"}})
        wait_for(lambda: len(embedder.asked) > asked, "the call to wait")
        assert "result" in server.ask("ping")
        assert server.call("get_stats", {})["result"]["structuredContent"]["total_memories"] == 1
        embedder.released.set()
        assert server.answer(slow)["result"]["isError"] is False


def test_several_servers_share_a_workspace(home: Path) -> None:
    with raw_server(home) as first, raw_server(home) as second:
        for server in (first, second):
            server.initialize()
        numbers = [
            (server, server.send("tools/call", {"name": "add_memory", "arguments": {"text": f"{name} {n}"}}))
            for n in range(30)
            for name, server in (("first", first), ("second", second))
        ]
        answers: dict[int, set[int]] = {id(first): set(), id(second): set()}
        for server, _ in numbers:
            message = json.loads(server.line())
            assert message["result"]["isError"] is False, message
            answers[id(server)].add(message["id"])
        assert [len(ids) for ids in answers.values()] == [30, 30]
        for server in (first, second):
            assert server.call("get_stats", {})["result"]["structuredContent"]["total_memories"] == 60


@pytest.mark.parametrize("arguments", [["--profile", "huge"], ["--nonsense"]])
def test_a_bad_command_line_ends_with_a_sentence_and_no_protocol(home: Path, arguments: list[str]) -> None:
    with raw_server(home, *arguments) as server:
        status, out, err = server.hang_up()
    assert (status, out) == (2, b"")
    assert b"Traceback" not in err
    assert err


def test_a_broken_setting_ends_with_a_sentence_and_no_protocol(home: Path) -> None:
    with raw_server(home, MEMSWEEP_CHUNKING_SIZE="many") as server:
        status, out, err = server.hang_up()
    assert (status, out) == (2, b"")
    assert b"chunking.size" in err


def test_a_large_text_goes_in_and_out(home: Path) -> None:
    text = "All work and no play makes Jack a dull boy.\n" * 25_000
    with connected(home, "legacy") as server:
        added = server.call("add_memory", text=text)
        offset, pieces = 0, []
        while offset < len(text):
            page = server.call("get_memory", memory_id=added["memory_id"], offset=offset)
            pieces.append(page["text"])
            offset = page.get("next_offset", len(text))
        assert "".join(pieces) == text
