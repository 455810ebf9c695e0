"""The sockets by which hooks find a server of the same home: a private folder in it, a name a process.

Only the account that owns the folder can put a socket there or reach one. Standard library alone, and no dataclass: a
hook imports it before it knows whether there is anybody to talk to.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator

_LONGEST = 100
"""Bytes of a path that every system takes for a socket."""
_MOST_TRIED = 3
READY_SECONDS = 0.25
"""How long a hook waits until a server takes its event; one that is busier than that is no help."""


def is_offered() -> bool:
    """Return whether this system has sockets that are files with an owner."""
    return hasattr(socket, "AF_UNIX") and sys.platform != "win32"


def is_private(folder: str) -> bool:
    """Return whether it is a folder of ours that nobody else can enter."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077


def listening(folder: str) -> tuple[socket.socket, str]:
    """A socket of this process, and its path. It gets its name when it listens: a name that refuses is a dead one's."""
    for path in _sockets(folder):
        with contextlib.suppress(OSError):
            connected(path, READY_SECONDS).close()
    name = f"{os.getpid()}-{os.urandom(4).hex()}.sock"  # containers that share a home have the same process ids
    own, path = socket.socket(socket.AF_UNIX), os.path.join(folder, name)
    draft = f"{path}.new"
    try:
        _by_a_short_path(draft, own.bind)
        os.chmod(draft, 0o600)
        own.listen(8)
        os.rename(draft, path)
    except OSError:
        own.close()
        raise
    return own, path


def servers(folder: str) -> Iterator[socket.socket]:
    """Connections to servers that listen there, those of the newest first."""
    if not is_offered() or not is_private(folder):
        return
    for path in _sockets(folder)[:_MOST_TRIED]:
        try:
            line = connected(path, READY_SECONDS)
        except OSError:
            continue
        with line:
            if is_of_our_account(line):
                yield line


def is_of_our_account(line: socket.socket) -> bool:
    """The folder says so too; where the system knows who is at the other end, it is asked."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    return bool(struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1] == os.geteuid())


def received(line: socket.socket, size: int | None, deadline: float, most: int) -> bytes:
    """So many bytes, or without a size a line; an OSError if they do not come in time, or are too many."""
    found = bytearray()
    while len(found) < size if size is not None else not found.endswith(b"\n"):
        line.settimeout(max(0.001, deadline - time.monotonic()))
        piece = line.recv(min(1 << 16, size - len(found)) if size is not None else 1 << 16)
        if not piece or len(found) + len(piece) > most or time.monotonic() > deadline:
            raise ConnectionError("the other end has hung up, or says too much")
        found += piece
    return bytes(found)


def _sockets(folder: str) -> list[str]:
    """The newest first."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".sock"):
                with contextlib.suppress(OSError):
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    return [path for _, path in sorted(found, reverse=True)]


def connected(path: str, seconds: float) -> socket.socket:
    """A socket that nobody listens at is removed."""
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(seconds)
    try:
        _by_a_short_path(path, line.connect)
    except OSError as error:
        line.close()
        if isinstance(error, ConnectionRefusedError):
            with contextlib.suppress(OSError):
                os.unlink(path)
        raise
    return line


def _by_a_short_path(path: str, step: Callable[[str], None]) -> None:
    """The address of a socket is short by law of the system; on Linux, the folder can be named by a number."""
    if len(os.fsencode(path)) <= _LONGEST:
        step(path)
        return
    folder, name = os.path.split(path)
    handle = os.open(folder, os.O_RDONLY)
    try:
        step(f"/proc/self/fd/{handle}/{name}")  # elsewhere there is no such folder, which is an OSError like any other
    finally:
        os.close(handle)
