"""Limit work: a call by its processor time, a process by the clock once it was told to end.

Arguments are bounded, which bounds most calls; statements of SQLite are interrupted, and none is begun, when a call has
used up its time; and a process that was told to end ends. A call that computes in Python and asks nothing of the store
is ended by a thread that looks at all calls once a second: it raises an exception in the thread of the call, but never
while that is inside of the store, a lock or an import, which end by themselves and leave nothing half done.
"""

from __future__ import annotations

import ctypes
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from memsweep.errors import StoreBusy

CALL_SECONDS = 120.0
"""Of processor time."""
_LOOK_SECONDS = 1.0
_HAS_CLOCKS = hasattr(time, "pthread_getcpuclockid")
_LEFT_ALONE = ("/memsweep/store/", "/memsweep/deadline.py", "/memsweep/forking.py", "/threading.py", "/contextlib.py",
               "/logging/", "/importlib/", "<frozen importlib")  # fmt: skip


class _Ends(threading.local):
    at = math.inf


_ends = _Ends()


class Over(BaseException):
    """Raised from outside in the thread of a call, which ends with `used_up`; nothing else catches it."""


class _Call:
    """A call that has begun, as the thread that looks at all of them sees it."""

    def __init__(self, ends_at: float, clock: int) -> None:
        self.ends_at, self.clock, self.is_told = ends_at, clock, False


_calls: dict[int, _Call] = {}
"""By thread."""
_looking: list[threading.Thread] = []


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Let this thread use so much processor time."""
    before, _ends.at = _ends.at, time.thread_time() + seconds
    thread = threading.get_ident()
    outer, call = _calls.get(thread), _begun(thread)
    try:
        yield
    except Over:
        raise used_up() from None
    finally:
        _ends.at = before
        if outer is not None:
            _calls[thread] = outer
        else:
            _calls.pop(thread, None)
        if call is not None and call.is_told:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)


def _begun(thread: int) -> _Call | None:
    if not _HAS_CLOCKS:
        return None
    call = _calls[thread] = _Call(_ends.at, time.pthread_getcpuclockid(thread))
    if not _looking or not _looking[0].is_alive():  # a fork takes it away
        _looking[:] = [threading.Thread(target=_look, name="memsweep-deadline", daemon=True)]
        _looking[0].start()
    return call


def _look() -> None:
    """End the calls that have used up their time."""
    while True:
        time.sleep(_LOOK_SECONDS)
        for thread, call in list(_calls.items()):
            try:
                is_over = time.clock_gettime(call.clock) > call.ends_at
            except OSError:  # the thread is not in this process: it has forked
                _calls.pop(thread, None)
                continue
            if is_over:
                _end(thread, call)


def _end(thread: int, call: _Call) -> None:
    """Raise in a thread, unless it is where it must not be ended; the next look finds it elsewhere."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)  # it stays where it is, as long as this takes
    try:
        frame = sys._current_frames().get(thread)
        if frame is not None and _calls.get(thread) is call and _may_end(frame):
            call.is_told = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Over))
    finally:
        sys.setswitchinterval(interval)


def _may_end(frame: FrameType | None) -> bool:
    while frame is not None:
        if any(place in frame.f_code.co_filename.replace("\\", "/") for place in _LEFT_ALONE):
            # The loop of a worker thread is below every call that it serves.
            return frame.f_code.co_name in ("run", "_bootstrap", "_bootstrap_inner") and _may_end(frame.f_back)
        frame = frame.f_back
    return True


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
