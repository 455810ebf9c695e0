"""Start the real server and the real command line as children that may die, forked or executed.

Starting Python costs a second, so most children are forked from this process, which has imported everything and
loaded the model. What runs in them is `memsweep.__main__.main` all the same.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults import kill_switch
from tests.support.warm import take_place, warm_up

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0
NOWHERE = kill_switch.Point()
_YES = {"action": "accept", "content": {"approve": True}}
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},  # what cannot be undone needs a person's yes
    "clientInfo": {"name": "campaign", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class Act:
    """One operation at a door: a tool of the server, or a command."""

    tool: str = ""
    arguments: Mapping[str, Any] | None = None
    command: Sequence[str] = ()

    @property
    def argv(self) -> list[str]:
        return ["serve", "--profile", "full"] if self.tool else list(self.command)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it went: what was acknowledged, or the refusal, or neither, because it died."""

    acknowledged: bool = False
    refusal: str = ""
    answer: Any = None
    killed: bool = False
    seconds: float = 0.0
    counts: Mapping[str, int] | None = None
    log: str = ""


def environment(home: Path, **settings: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("MEMSWEEP_", "OPENAI_"))}
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(ROOT))))
    return {**kept, "PYTHONPATH": path, "MEMSWEEP_HOME": str(home), "COLUMNS": "200", **settings}


class Child:
    """A process with pipes; `pid` may be killed at any moment."""

    def __init__(self, pid: int, stdin: int, stdout: int) -> None:
        self.pid, self._stdin, self._stdout = pid, stdin, stdout
        self._buffer = b""
        self._status: int | None = None

    def send(self, message: Mapping[str, Any]) -> None:
        with suppress(BrokenPipeError):
            os.write(self._stdin, json.dumps(message).encode() + b"\n")

    def read(self, until: float) -> bytes | None:
        """What it says next; empty at its end, None when the time has come."""
        ready, _, _ = select.select([self._stdout], [], [], max(0.0, until - time.monotonic()))
        return os.read(self._stdout, 1 << 16) if ready else None

    def answer(self, number: int, until: float) -> Mapping[str, Any] | None:
        """The answer to a request; None if it died or the time has come."""
        while True:
            while b"\n" not in self._buffer:
                part = self.read(until)
                if not part:
                    return None
                self._buffer += part
            line, self._buffer = self._buffer.split(b"\n", 1)
            message: Mapping[str, Any] = json.loads(line)
            if message.get("method") == "elicitation/create":
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": _YES})
            if message.get("id") == number and "method" not in message:
                return message

    def output(self, until: float) -> bytes | None:
        """Everything until it ends; None when the time has come."""
        while True:
            part = self.read(until)
            if part is None:
                return None
            if not part:
                return self._buffer
            self._buffer += part

    def hang_up(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1

    def kill(self) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            self.hang_up()
            os.close(self._stdout)
        return self._status


def start(argv: list[str], place: Path, point: kill_switch.Point, *, execute: bool, **settings: str) -> Child:
    """A door of memsweep on the home in `place`, as a child."""
    env = environment(place / "home", **settings)
    report, log = place / "counts.json", place / "log"
    report.unlink(missing_ok=True)
    if execute:
        order = [point.kind, str(point.number), str(place), str(report)]
        command = [sys.executable, "-m", "tests.faults.kill_switch", *order, *argv]
        with log.open("ab") as errors:
            started = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=errors, env=env, cwd=place)
        assert started.stdin is not None
        assert started.stdout is not None
        pipes = os.dup(started.stdin.fileno()), os.dup(started.stdout.fileno())
        started.stdin.close()
        started.stdout.close()
        started.returncode = 0  # we wait for it ourselves
        return Child(started.pid, *pipes)
    warm_up()
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(argv, place, point, (theirs_in, theirs_out), env)
    os.close(theirs_in)
    os.close(theirs_out)
    return Child(pid, ours_out, ours_in)


def _be_child(
    argv: list[str], place: Path, point: kill_switch.Point, pipes: tuple[int, int], env: dict[str, str]
) -> None:
    status = 70
    try:
        log = os.open(place / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        take_place((*pipes, log), env, place)
        status = kill_switch.live(argv, point, place, place / "counts.json")
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001  # the last stop of this process
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def perform(
    act: Act,
    place: Path,
    point: kill_switch.Point = NOWHERE,
    *,
    execute: bool = False,
    after_seconds: float | None = None,
    **settings: str,
) -> Outcome:
    """Do it at its door, with a child of its own. `after_seconds`: killed from outside when it has run so long."""
    begun = time.monotonic()
    child = start(act.argv, place, point, execute=execute, **settings)
    try:
        said = _call(child, act, after_seconds) if act.tool else _command(child, begun, after_seconds)
    finally:
        seconds = time.monotonic() - begun
        if after_seconds is not None:
            child.kill()
        child.hang_up()
        status = child.wait()
    killed = status == -signal.SIGKILL
    report = place / "counts.json"
    counts = json.loads(report.read_text() or "null") if report.exists() else None  # empty: killed while it wrote that
    acknowledged, refusal, answer = _judge(said, status, act)
    written = place / "log"  # which a process that was killed at once has not made
    log = written.read_text("utf-8", errors="replace")[-2000:] if written.exists() else ""
    return Outcome(acknowledged, refusal, answer, killed, seconds, counts, log)


def _call(child: Child, act: Act, after_seconds: float | None) -> Mapping[str, Any] | None:
    patience = time.monotonic() + PATIENCE
    child.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO})
    if child.answer(1, patience) is None:
        return None
    child.send({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}})
    params = {"name": act.tool, "arguments": dict(act.arguments or {})}
    child.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    until = patience if after_seconds is None else time.monotonic() + after_seconds
    return child.answer(2, until)


def _command(child: Child, begun: float, after_seconds: float | None) -> bytes | None:
    child.hang_up()
    return child.output(begun + (PATIENCE if after_seconds is None else after_seconds))


def _judge(said: Any, status: int, act: Act) -> tuple[bool, str, Any]:
    if act.tool:
        if said is None:
            return False, "", None
        if "error" in said:
            return False, str(said["error"]), None
        result = said["result"]
        text = result["content"][0]["text"]
        return (False, text, None) if result.get("isError") else (True, "", result.get("structuredContent"))
    if status == 0:  # it came to its end before it was killed, whether we heard all of it or not
        return True, "", (said or b"").decode()
    return False, "" if status < 0 else f"exit status {status}", None
