"""Refresh the index whenever files change, once they have come to rest."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from memsweep.code.exclude import MACHINE_MADE_FOLDERS
from memsweep.errors import BadInput, MemsweepError
from memsweep.model.code import IndexResult

Refresh = Callable[[], IndexResult]

_QUIET_MS = 400  # no event for this long: a checkout of thousands of files is one refresh
_AT_MOST_MS = 5000
_LOOK_MS = 1000  # how often to see whether the folder itself is still the one that is watched


def watch(root: str, refresh: Refresh, stop: threading.Event, own: Path) -> Iterator[IndexResult | MemsweepError]:
    """The result of every refresh, the first one at once; a refresh that fails does not end the watch.

    What changes below `own` is the doing of a refresh. A folder that vanishes is waited for.
    """
    root = os.path.realpath(os.path.expanduser(root))
    yield refresh()
    while not stop.is_set():
        for _ in _occasions(root, own, stop):
            try:
                yield refresh()
            except MemsweepError as error:
                yield error
        while not os.path.isdir(root) and not stop.wait(_LOOK_MS / 1000):
            pass


def _occasions(root: str, own: Path, stop: threading.Event) -> Iterator[None]:
    """When the watching begins, for what came before it was not seen, and whenever something changes."""
    from watchfiles import watch as changes

    began = _identity(root)
    events = changes(
        root,
        watch_filter=lambda _, path: _matters(os.path.relpath(path, root)) and not Path(path).is_relative_to(own),
        debounce=_AT_MOST_MS,
        step=_QUIET_MS,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
        ignore_permission_denied=True,
    )
    first = True
    try:
        for found in events:
            if found or first:
                yield
            first = False
            if _identity(root) != began:
                return
    except FileNotFoundError:
        return
    except (OSError, RuntimeError) as error:
        raise BadInput(f"{root} cannot be watched ({error}).") from None


def _matters(path: str) -> bool:
    return MACHINE_MADE_FOLDERS.isdisjoint(path.split(os.sep))


def _identity(root: str) -> tuple[int, int] | None:
    try:
        found = os.stat(root)
    except OSError:
        return None
    return found.st_dev, found.st_ino
