"""Limit work: a call by its processor time, a process by the clock once it was told to end.

A thread cannot be ended from outside. So arguments are bounded, which bounds every call; statements of SQLite are
interrupted, and none is begun, when a call has used up its time; and a process that was told to end ends.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memsweep.errors import StoreBusy

CALL_SECONDS = 120.0
"""Of processor time."""


class _Ends(threading.local):
    at = math.inf


_ends = _Ends()


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Let this thread use so much processor time."""
    before, _ends.at = _ends.at, time.thread_time() + seconds
    try:
        yield
    finally:
        _ends.at = before


def is_over() -> bool:
    return time.thread_time() > _ends.at


def refuse_if_over() -> None:
    if is_over():
        raise used_up()


def used_up() -> StoreBusy:
    return StoreBusy(
        "the call has used up its processor time and was ended; what it had begun to write was taken back.",
        hint="Ask for less at once, or use the command line, which has no such limit.",
    )


def end_process_within(seconds: int) -> None:
    """End this process then, whatever its threads do; one that has ended by itself is not harmed.

    The system does it, which needs nothing from an interpreter that is held by a long computation.
    """
    if hasattr(signal, "alarm") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
