"""The front: answers the handshake in a thread while the main thread imports the SDK. Standard library alone.

It reads up to the first line that is not its own to answer. `hand_over` stops it and gives what the server needs to go
on: the lines that were answered, which the server gets once more so that it knows its client, what was read beyond
them, and what of the answers is not sent yet.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import threading
from dataclasses import dataclass

from memsweep.errors import BadInput
from memsweep.server.handshake import MOST_BYTES, Handshake, load_recorded

PIECE = 1 << 16


def taken(descriptor: int) -> int:
    """The same pipe by a private number: whoever else prints does so to stderr, and whoever reads finds nothing."""
    private = _above_the_three(descriptor)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(2 if descriptor and sys.stderr else nothing, descriptor)
    os.close(nothing)
    return private


def _above_the_three(descriptor: int) -> int:
    """Not in place of one of the three that is closed."""
    if sys.platform == "win32":
        return os.dup(descriptor)
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


def is_watchable(descriptor: int) -> bool:
    """Return whether one can wait for a descriptor: a pipe or a socket, not a file or a terminal."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def room_in(descriptor: int) -> int:
    """Return how many bytes a writable descriptor takes at once: all of an empty pipe, else what systems promise.

    Each piece wakes the client, and most answers have several times what is promised.
    """
    if sys.platform != "linux":
        return select.PIPE_BUF
    import fcntl
    import termios

    try:
        whole = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
        unread = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
    except OSError:  # no pipe
        return select.PIPE_BUF
    return select.PIPE_BUF if any(unread) else whole


_MOST_ANSWERED = 64  # lines; a client that asks for more gets the rest from the server
_SWITCH_SECONDS = 0.0005  # an import holds the interpreter ten times as long before it lets another thread answer


@dataclass(frozen=True, slots=True)
class Opening:
    """The pipes by private numbers, and how far the conversation has come."""

    reading: int
    writing: int
    answered: tuple[bytes, ...] = ()
    unread: bytes = b""
    unsent: bytes = b""


class Front:
    """Standard input and output from the first moment on, until the server takes them."""

    def __init__(self) -> None:
        if sys.stdin is None or sys.stdout is None:
            raise BadInput(
                "standard input or output is closed, and agents are served over them.",
                hint="Let an MCP client start `memsweep serve`.",
            )
        self._reading, self._writing = taken(0), taken(1)
        self._answered: list[bytes] = []
        self._unread = self._unsent = b""
        self._thread: threading.Thread | None = None

    def answer_early(self, profile: str) -> None:
        """Answer what can be answered already; where input or output cannot be watched, that has to wait."""
        if not is_watchable(self._reading) or not is_watchable(self._writing):
            return
        try:
            self._handshake = Handshake(profile, load_recorded())
        except (OSError, ValueError, KeyError):  # a damaged installation starts late, as it did without a front
            return
        self._stopped, self._stop = os.pipe()
        self._usual_seconds = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._thread = threading.Thread(target=self._converse, name="front", daemon=True)
        self._thread.start()

    def hand_over(self) -> Opening:
        """From here on the pipes belong to the caller."""
        if self._thread is not None:
            os.write(self._stop, b"!")
            self._thread.join()
            os.close(self._stop)
            os.close(self._stopped)
            sys.setswitchinterval(self._usual_seconds)
        return Opening(self._reading, self._writing, tuple(self._answered), self._unread, self._unsent)

    def _converse(self) -> None:
        listening = True
        while listening or self._unsent:
            ready = self._wait_for((self._writing, select.POLLOUT) if self._unsent else (self._reading, select.POLLIN))
            if not ready:
                return
            try:
                if self._unsent:
                    self._unsent = self._unsent[os.write(self._writing, self._unsent[: select.PIPE_BUF]) :]
                else:
                    listening = self._listen(os.read(self._reading, PIECE))
            except ConnectionError:  # the server finds the same, and ends
                return

    def _wait_for(self, what: tuple[int, int]) -> bool:
        """Wait for a descriptor; return False if the end came first."""
        waiting = select.poll()
        waiting.register(*what)
        waiting.register(self._stopped, select.POLLIN)
        return all(descriptor != self._stopped for descriptor, _ in waiting.poll())

    def _listen(self, piece: bytes) -> bool:
        """Answer the complete lines of a piece; return False where the SDK has to go on."""
        *lines, rest = (self._unread + piece).split(b"\n")
        for number, line in enumerate(lines):
            answer = self._handshake.reply(line) if len(self._answered) < _MOST_ANSWERED else None
            if answer is None:
                self._unread = b"\n".join([*lines[number:], rest])
                return False
            self._answered.append(line)
            self._unsent += answer
        self._unread = rest
        return bool(piece) and len(rest) <= MOST_BYTES
