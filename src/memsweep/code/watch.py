"""Refresh the index whenever files change, once they have come to rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from memsweep.errors import BadInput, MemsweepError
from memsweep.model.code import IndexResult

Refresh = Callable[[], IndexResult]

_QUIET_MS = 400  # no event for so long: a checkout of thousands of files is one refresh
_AT_MOST_MS = 5000


def watch(root: str, refresh: Refresh, stop: threading.Event) -> Iterator[IndexResult | MemsweepError]:
    """The result of every refresh, the first one at once; a refresh that fails does not end the watch."""
    from watchfiles import watch as changes

    yield refresh()
    events = changes(root, debounce=_AT_MOST_MS, step=_QUIET_MS, stop_event=stop, raise_interrupt=False)
    try:
        for _ in events:
            try:
                yield refresh()
            except MemsweepError as error:
                yield error
    except (FileNotFoundError, RuntimeError) as error:
        raise BadInput(f"{root} cannot be watched any more ({error}).") from None
