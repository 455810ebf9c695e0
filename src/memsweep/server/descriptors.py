"""Standard input and output by numbers of our own. Standard library alone."""

from __future__ import annotations

import os
import select
import stat
import sys

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
