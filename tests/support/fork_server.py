"""A process that is ready to work and forks children which do: `python -m tests.support.fork_server`.

Importing takes longer than most jobs, so it is done once. A line of JSON on standard input makes a
child; everything it says comes back as a line of JSON with its process id, and when it ends the
fork_server says `[PID, "exit", STATUS]`. Lines are written under a lock, so those of several children never mix.
"""

import contextlib
import fcntl
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from tests.support.commands import environment
from tests.support.waiting import PATIENCE

Say = Callable[[Any], None]


class Child:
    """A forked child as the test sees it."""

    def __init__(self, pid: int) -> None:
        self.pid, self.ended = pid, False
        self.lines: Queue[Any] = Queue()
        self.status: int | None = None

    def said(self) -> Any:
        """The next thing it says."""
        kind, value = self.lines.get(timeout=PATIENCE)
        assert kind == "say", f"the child ended with {value} instead of saying something"
        return value

    def go(self) -> None:
        """Let a child go on that waits for a word."""
        os.kill(self.pid, signal.SIGUSR1)

    def kill(self) -> list[Any]:
        """End it the hard way, unless it has ended by itself; what it had said until then."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self.rest()

    def rest(self) -> list[Any]:
        """Everything it says until it ends."""
        said = []
        while self.status is None:
            kind, value = self.lines.get(timeout=2 * PATIENCE)
            if kind == "say":
                said.append(value)
            else:
                self.status = value
        return said

    def report(self) -> Any:
        """The single thing it says before it ends well."""
        said = self.rest()
        assert self.status == 0, f"the child ended with {self.status} after saying {said}"
        (only,) = said
        return only


class ForkServer:
    """The test's side."""

    def __init__(self, **settings: str) -> None:
        self._children: dict[int, Child] = {}
        self._forked: Queue[int] = Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(None, TOKENIZERS_PARALLELISM="false", **settings),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def fork(self, job: str, home: Path, **arguments: Any) -> Child:
        assert self._process.stdin is not None
        order = {"job": job, "home": str(home), **arguments}
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        try:
            return self._children[self._forked.get(timeout=PATIENCE)]
        except Empty:
            raise AssertionError("the fork_server does not answer") from None

    def program(self, module: str, *arguments: Any) -> Any:
        """What `main` of a module returns, in a process of its own that has imported everything already."""
        return self.fork("program", Path("/nonexistent"), module=module, arguments=arguments).report()

    def close(self) -> None:
        for child in self._children.values():
            if not child.ended:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            pid, kind, value = json.loads(line)
            child = self._children.setdefault(pid, Child(pid))  # it may speak before its birth is announced
            if kind == "fork":
                self._forked.put(pid)
            else:
                child.ended = kind == "exit"
                child.lines.put((kind, value))


with tempfile.TemporaryFile() as _file:
    _lock = os.dup(_file.fileno())  # lives as long as the process


def _tell(kind: str, value: Any = None, pid: int | None = None) -> None:
    line = json.dumps([pid or os.getpid(), kind, value]).encode() + b"\n"
    fcntl.lockf(_lock, fcntl.LOCK_EX)
    while line:
        line = line[os.write(1, line) :]
    fcntl.lockf(_lock, fcntl.LOCK_UN)


def _reap(*_: object) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _tell("exit", os.waitstatus_to_exitcode(status), pid)


def _lines() -> Iterator[dict[str, Any]]:
    for line in sys.stdin.buffer:
        yield json.loads(line)


def main() -> None:
    from memsweep.app import App, make_app
    from memsweep.library import open_memory  # noqa: F401
    from memsweep.settings import load_settings
    from tests.support.jobs import JOBS

    ready = make_app(load_settings({"MEMSWEEP_HOME": "/nonexistent"}))
    ready.warm_up()
    App.local_model = ready.local_model  # type: ignore[method-assign,assignment]  # safe to share: it is only read
    signal.signal(signal.SIGCHLD, _reap)
    for order in _lines():
        if "module" in order:
            importlib.import_module(order["module"])
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGCHLD})
        pid = os.fork()
        if pid:
            _tell("fork", None, pid)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1, signal.SIGCHLD})
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os._exit(_work(order, JOBS))


def _work(order: dict[str, Any], jobs: dict[str, Any]) -> int:
    from memsweep.app import make_app
    from memsweep.settings import load_settings

    os.umask(order.pop("umask", 0o022))
    job = jobs[order.pop("job")]
    variables = {"MEMSWEEP_HOME": order.pop("home"), **order.pop("settings", {})}
    if limit := order.pop("file_size_limit", None):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    app = make_app(load_settings(variables))
    try:
        job(app, lambda value: _tell("say", value), **order)
        app.close()
    except BaseException as error:  # noqa: BLE001  # the last stop of this process
        import traceback

        traceback.print_exc()
        _tell("say", f"{type(error).__name__}: {error}")
        return 1
    return 0


def wait_for_word() -> None:
    """In a child: stop until the test says `go`."""
    signal.sigwait({signal.SIGUSR1})


if __name__ == "__main__":
    main()
