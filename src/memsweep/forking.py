"""Keep a fork out of stretches that it would break, and renew a forked child.

A child has the memory of its parent, but of its threads only the one that forked. What the others were in the middle of
stays as it was for good: a lock is never let go, and SQLite takes the locks of the parent for its own. So a fork waits
until no thread is inside of a stretch. See ADR 39.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Protocol
from weakref import WeakSet

from memsweep.errors import StoreError

SECONDS_FOR_CALLS = 1.0
SECONDS_FOR_STORES = 5.0


class _Mine(threading.local):
    depth = 0


class Stretch:
    """Code for `most` threads at once, and for none while the process forks. It may lie within itself."""

    def __init__(self) -> None:
        self.most = math.inf
        self._mine = _Mine()
        self.begin_anew(torn=False)

    def begin_anew(self, *, torn: bool) -> None:
        """In a forked child, which has none of the other threads. `torn`: what they were in is never finished."""
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._inside = 1 if self.is_mine else 0
        self._waiting = self._shut_by = 0
        self.is_torn = torn

    def __enter__(self) -> None:
        if not self._mine.depth:
            if self.is_torn:
                raise torn_store()
            with self._lock:
                if self._shut_by or self._inside >= self.most:
                    self._wait(lambda: not self._shut_by and self._inside < self.most)
                self._inside += 1
        self._mine.depth += 1

    def __exit__(self, *_: object) -> None:
        self._mine.depth -= 1
        if not self._mine.depth:
            with self._lock:
                self._inside -= 1
                if self._waiting:
                    self._turn.notify_all()

    def _wait(self, until: Callable[[], bool], seconds: float | None = None) -> None:
        self._waiting += 1
        try:
            self._turn.wait_for(until, seconds)
        finally:
            self._waiting -= 1

    @property
    def is_mine(self) -> bool:
        """Return whether this thread is inside."""
        return self._mine.depth > 0

    @property
    def is_empty(self) -> bool:
        return self._inside == 0

    def shut(self, seconds: float) -> None:
        """Let nobody in, and wait until the others have left."""
        me = threading.get_ident()
        with self._lock:
            self._wait(lambda: self._shut_by in (0, me))  # another thread may be forking
            self._shut_by = me
            self._wait(lambda: self._inside <= self.is_mine, seconds)

    def open(self) -> None:
        with self._lock:
            self._shut_by = 0
            self._turn.notify_all()


class Inherited(Protocol):
    """Something that a forked child must not share with its parent."""

    def leave_to_parent(self, *, torn: bool) -> None:
        """Begin anew. `torn`: another thread was inside of a store, so that nothing of it can even be closed."""


calls = Stretch()
"""Operations: a fork waits for them for a moment, so that no lock is held and no module is half imported."""
stores = Stretch()
"""Whatever has a connection to SQLite in its hands: a child in which that was cut off is refused."""
_inherited: WeakSet[Inherited] = WeakSet()
_locks: WeakSet[threading.Lock] = WeakSet()


def torn_store() -> StoreError:
    return StoreError(
        "this process was forked while another thread was writing to the store or reading it, and cannot use it.",
        hint="Start it by spawn or forkserver, or fork before other threads work.",
    )


def after_fork(thing: Inherited) -> None:
    """Have something begin anew in every forked child."""
    _inherited.add(thing)


def new_lock() -> threading.Lock:
    """A lock that nobody holds in a forked child."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def _before() -> None:
    calls.shut(SECONDS_FOR_CALLS)
    stores.shut(SECONDS_FOR_STORES)


def _in_parent() -> None:
    stores.open()
    calls.open()


def _in_child() -> None:
    torn = stores.is_torn or not stores.is_empty
    calls.begin_anew(torn=False)
    stores.begin_anew(torn=torn)
    for lock in list(_locks):
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library does it
    for thing in list(_inherited):
        thing.leave_to_parent(torn=torn)


@cache
def wait_first() -> None:
    """Wait for the others before any of these modules lets nobody in, which the others may be about to use.

    A program that forks opens a workspace by the library, so only that imports them early.
    """
    import filelock  # noqa: F401

    with suppress(RuntimeError):  # the interpreter is ending
        import concurrent.futures.thread  # noqa: F401

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
