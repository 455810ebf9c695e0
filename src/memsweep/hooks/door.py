"""`memsweep hook EVENT`: in time or not at all. An error is silence, and a line in the record.

A client waits for its hooks, feeds what they print to the model and stops for an exit status of 2. So the answer is
written at once when it is whole, the exit status is always 0, and a watchdog ends the process when its time is up.
Ending it in the middle of a write is a crash that the store survives.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from memsweep.errors import MemsweepError
from memsweep.hooks.event import DRAIN, EVENTS, Event, read_event

SECONDS = {
    "SessionStart": 4.0,
    "UserPromptSubmit": 2.0,
    "PostToolUse": 1.0,
    "PreCompact": 5.0,
    "Stop": 1.0,
    "SessionEnd": 1.0,
    DRAIN: 60.0,
}
"""How long each event may take before it ends with nothing."""
_MOST_INPUT = 64 << 20


def run(arguments: Sequence[str]) -> int:
    """Answer the event that is named; `Drain` is the process that works in the background."""
    event, answer, outcome = Event(arguments[0] if arguments else ""), None, "failed"
    started = time.monotonic()
    watchdog = threading.Timer(SECONDS.get(event.name, 1.0), _give_up, (event,))
    watchdog.daemon = True
    watchdog.start()
    try:
        event = _read(event.name)
        from memsweep.hooks.handle import handle

        answer, outcome = handle(event)
    except Exception as error:  # noqa: BLE001  # the client must not notice; the record says what it was
        outcome = f"failed: {type(error).__name__}: {error!s:.200}"
    watchdog.cancel()
    if answer is not None:
        _print(event, answer)
    _note(event, outcome, time.monotonic() - started)
    return 0


def _read(name: str) -> Event:
    if name == DRAIN:
        return Event(name)
    if name not in EVENTS:
        raise ValueError(f"there is no event {name!r:.60}")
    return read_event(name, json.loads(sys.stdin.buffer.read(_MOST_INPUT)))


def _print(event: Event, answer: Mapping[str, Any]) -> None:
    said = {"hookSpecificOutput": {"hookEventName": event.name, **answer}}
    print(json.dumps(said), flush=True)


def _give_up(event: Event) -> None:
    _note(event, "out of time", SECONDS.get(event.name, 1.0))
    os._exit(0)


def _note(event: Event, outcome: str, seconds: float) -> None:
    from memsweep.hooks.files import HookFiles
    from memsweep.settings import load_settings

    run = {
        "at": round(time.time(), 3),
        "event": event.name,
        "client": event.client,
        "folder": event.folder[:500],
        "ms": round(seconds * 1000),
        "outcome": outcome,
    }
    try:
        HookFiles(load_settings().home).note_run(run)
    except (MemsweepError, OSError):
        return  # there is nobody left to tell
