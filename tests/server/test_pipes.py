"""What the server's input and output may be, and how its clients may use them."""

import json
import os
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.server.envelope import LongLine
from memsweep.server.front import room_in
from memsweep.server.pipes import Lines
from tests.secrets.test_ways_in import AWS
from tests.support import contents
from tests.support.client import raw_server
from tests.support.commands import MEMSWEEP, environment
from tests.support.waiting import PATIENCE, wait_for
from tests.support.warm_python import warm_python

pytestmark = pytest.mark.slow

HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def _message(number: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


ADDING = _message(2, "tools/call", {"name": "add_memory", "arguments": {"text": "remember me"}})
TALK = b"\n".join([_message(1, "initialize", HANDSHAKE), ADDING, b""])


def _answers(out: bytes) -> dict[int, dict[str, Any]]:
    messages = map(json.loads, out.splitlines())
    return {message["id"]: message["result"] for message in messages if "result" in message}


def test_a_file_can_be_its_input_and_another_its_output(home: Path, tmp_path: Path) -> None:
    (tmp_path / "talk").write_bytes(TALK)
    with (tmp_path / "talk").open("rb") as talk, (tmp_path / "answers").open("wb") as answers:
        command = [*warm_python(), "-m", "memsweep", "serve"]
        ran = subprocess.run(
            command, stdin=talk, stdout=answers, stderr=subprocess.PIPE, env=environment(home), timeout=PATIENCE
        )
    assert ran.returncode == 0, ran.stderr
    assert _answers((tmp_path / "answers").read_bytes())[1]["serverInfo"]["name"] == "memsweep"


def test_a_socket_can_be_both_as_some_clients_have_it(home: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, open(os.devnull, "wb") as nowhere:
        command = [*warm_python(), "-m", "memsweep", "serve"]
        server = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=nowhere, env=environment(home))
        theirs.close()
        ours.settimeout(PATIENCE)
        ours.sendall(TALK)
        out = b""
        while 2 not in _answers(out[: out.rfind(b"\n") + 1]):
            part = ours.recv(1 << 16)
            assert part, "the server has hung up"
            out += part
        assert _answers(out)[2]["isError"] is False
        ours.shutdown(socket.SHUT_WR)
        assert server.wait(PATIENCE) == 0


@given(st.lists(st.binary(min_size=1, max_size=20) | st.sampled_from([b"\n", b"\xf0\x9f", b"\x8e\x89", b"{}"])))
def test_lines_are_those_of_the_whole_however_it_comes(pieces: list[bytes]) -> None:
    """The last one need not end."""
    *lines, rest = b"".join(pieces).split(b"\n")
    expected = [*lines, *([rest] if rest else [])]
    assert anyio.run(_read_in_turns, pieces) == expected


async def _read_in_turns(pieces: list[bytes]) -> list[bytes | LongLine]:
    reading, writing = os.pipe()
    found: list[bytes | LongLine] = []

    async def write() -> None:
        for piece in pieces:
            os.write(writing, piece)
            await anyio.lowlevel.checkpoint()
        os.close(writing)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            async for line in Lines(reading):
                found.append(line)
    finally:
        os.close(reading)
    return found


def test_a_line_may_come_in_any_pieces(home: Path) -> None:
    with raw_server(home) as server:
        server.initialize()
        assert server.process.stdin is not None
        line = _message(7, "tools/call", {"name": "add_memory", "arguments": {"text": "in pieces 🎉"}})
        whole = line.replace(b"\\ud83c\\udf89", "🎉".encode()) + b"\r\n" + _message(8, "ping", {}) + b"\n"
        for start in range(0, len(whole), 7):  # also within the emoji
            server.process.stdin.write(whole[start : start + 7])
            server.process.stdin.flush()
            time.sleep(0.001)
        answers = _answers(server.line() + b"\n" + server.line())
        assert answers[7]["isError"] is False
        memory = {"memory_id": answers[7]["structuredContent"]["memory_id"]}
        assert server.call("get_memory", memory)["result"]["structuredContent"]["text"] == "in pieces 🎉"


def test_a_client_that_does_not_read_is_waited_for(home: Path, app: App) -> None:
    """Answers of many times what a pipe takes; the server goes on listening, and none is lost or torn."""
    added = app.memory().remember("a long text " * 20_000)
    app.close()
    with raw_server(home) as server:
        server.initialize()
        wanted = [
            server.send("tools/call", {"name": "get_memory", "arguments": {"memory_id": added.memory_id}})
            for _ in range(40)
        ]
        later = server.send("tools/call", {"name": "add_memory", "arguments": {"text": "while it waits"}})
        memory = App(app.settings).memory()
        wait_for(lambda: memory.stats().total_memories == 2, "it to listen although nobody has read a word")
        memory.close()
        answers = _answers(b"\n".join(server.line() for _ in range(41)))
        texts = {answers[number]["structuredContent"]["text"] for number in wanted}
        (text,) = texts
        assert len(text) > 10_000
        assert ("a long text " * 20_000).startswith(text)
        assert answers[later]["isError"] is False


def test_an_empty_pipe_takes_much_at_once_and_a_full_one_what_every_system_promises() -> None:
    reading, writing = os.pipe()
    try:
        empty = room_in(writing)
        os.write(writing, bytes(empty))  # which would wait for ever if there were less room
        assert empty >= room_in(writing) == select.PIPE_BUF
    finally:
        os.close(reading)
        os.close(writing)


def test_a_client_that_closes_only_its_ears_ends_the_server(home: Path) -> None:
    with raw_server(home) as server:
        server.initialize()
        assert server.process.stdout is not None
        assert server.process.stdin is not None
        server.process.stdout.close()
        server.send("tools/call", {"name": "add_memory", "arguments": {"text": "unheard"}})
        wait_for(lambda: server.process.poll() is not None, "the server to end")
        assert server.process.returncode == 0
        assert server.process.stderr is not None
        assert b"Traceback" not in server.process.stderr.read()
    assert contents.texts_in(home) == ["unheard"]


@pytest.mark.parametrize("closed", [0, 1])
def test_without_input_or_output_there_is_a_sentence(home: Path, closed: int) -> None:
    ran = subprocess.run(
        [*MEMSWEEP, "serve"],
        input=b"",
        capture_output=True,
        env=environment(home),
        timeout=PATIENCE,
        preexec_fn=lambda: os.close(closed),
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith(b"Error: standard input or output is closed")
    assert b"Traceback" not in ran.stderr


def test_without_a_place_for_its_log_it_serves(home: Path) -> None:
    server = subprocess.Popen(
        [*MEMSWEEP, "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(home, MEMSWEEP_LOG_LEVEL="DEBUG"),
        preexec_fn=lambda: os.close(2),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(TALK)
    server.stdin.flush()
    lines = [server.stdout.readline() for _ in range(2)]
    out, _ = server.communicate(timeout=PATIENCE)
    assert _answers(b"".join([*lines, out]))[2]["isError"] is False
    assert server.returncode == 0


CHANGED = """
import subprocess, sys
import memsweep.services.memory
stats = memsweep.services.memory.BaseMemory.stats
def changed(self):
{body}
    return stats(self)
memsweep.services.memory.BaseMemory.stats = changed
from memsweep.__main__ import main
sys.argv = ["memsweep", "serve"]
main()
"""
PRINTING = """
    print("a stray line", flush=True)
    subprocess.run([sys.executable, "-c", "print('of a child'); print(repr(input()))"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are not taken there")
def test_what_others_print_does_not_reach_the_client(home: Path, app: App) -> None:
    app.memory().remember("one")
    app.close()
    answer, log = _stats_with(PRINTING, home)
    assert answer["structuredContent"]["total_memories"] == 1
    assert "a stray line" in log
    assert "of a child" in log
    assert "EOFError" in log  # the child found nothing to read


def test_an_exception_that_no_future_can_carry_is_answered(home: Path, app: App) -> None:
    app.memory().remember("one")
    app.close()
    answer, log = _stats_with("    next(iter(()))", home)
    assert answer["isError"]
    assert "get_stats failed unexpectedly" in answer["content"][0]["text"]
    assert "StopIteration" in log


def test_the_log_of_a_failure_repeats_no_secret(home: Path, app: App) -> None:
    app.memory().remember("one")
    app.close()
    _, log = _stats_with(f"    raise KeyError('the key ' + {AWS!r})", home)
    assert "the key [secret: aws-access-key]" in log
    assert log.count(AWS) == 0


def _stats_with(body: str, home: Path) -> tuple[dict[str, Any], str]:
    """The answer to get_stats of a server in which that does something more, and its log."""
    process = subprocess.Popen(
        [*warm_python(), "-c", CHANGED.format(body=body)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
    )
    asking = _message(3, "tools/call", {"name": "get_stats", "arguments": {}})
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(_message(1, "initialize", HANDSHAKE) + b"\n" + asking + b"\n")
    process.stdin.flush()
    lines = [process.stdout.readline() for _ in range(2)]
    out, log = process.communicate(timeout=PATIENCE)
    return _answers(b"".join([*lines, out]))[3], log.decode()
