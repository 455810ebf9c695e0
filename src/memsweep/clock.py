"""The sources of time and randomness; everything that decides gets them handed in."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from memsweep.model.ids import make_id


def now() -> datetime:
    return datetime.now(UTC)


_FIRST, _LAST = datetime(1001, 1, 1, tzinfo=UTC), datetime(8999, 12, 31, tzinfo=UTC)


def within_calendar(clock: Callable[[], datetime]) -> Callable[[], datetime]:
    """Return the clock, held where a thousand years before and after any of its moments are dates as well."""
    return lambda: min(max(clock(), _FIRST), _LAST)


def local_now() -> datetime:
    """With the zone of this machine: a schedule means the clock on the wall."""
    return datetime.now(UTC).astimezone()


def new_id(prefix: str) -> str:
    """Random, and never the same in two processes: a fork does not inherit what is left."""
    if _entropy.pid != os.getpid() or len(_entropy.left) < 8:
        _entropy.pid, _entropy.left = os.getpid(), os.urandom(8 * 512)
    taken, _entropy.left = _entropy.left[:8], _entropy.left[8:]
    return make_id(prefix, taken)


class _Entropy(threading.local):
    """Random bytes taken from the system in larger portions; an index run needs hundreds of thousands of ids."""

    pid = 0
    left = b""


_entropy = _Entropy()
