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
from typing import TYPE_CHECKING, Any

from memsweep.errors import MemsweepError
from memsweep.hooks.event import DRAIN, EVENTS, Event, is_for_a_server, read_event

if TYPE_CHECKING:
    from pathlib import Path

    from memsweep.hooks.handle import Answer

SECONDS = {
    "SessionStart": 8.0,
    "UserPromptSubmit": 2.0,
    "PostToolUse": 1.0,
    "PreCompact": 1.0,
    "Stop": 1.0,
    "SessionEnd": 1.0,
    DRAIN: 60.0,
}
"""How long each event may take before it ends with nothing."""
_MOST_INPUT = 64 << 20


def run(arguments: Sequence[str]) -> int:
    """Answer the event that is named; `Drain` is the process that works in the background."""
    event, answer, outcome = Event(arguments[0] if arguments else ""), None, ""
    began = time.monotonic()
    watchdog = threading.Timer(SECONDS.get(event.name, 1.0), lambda: _give_up(event))
    watchdog.daemon = True
    watchdog.start()
    try:
        event, raw = _read(event.name)
        reply = _asked(event, raw, began)
        if reply is None:
            answer, outcome = _handled(event)
        else:  # and the server has noted it
            answer = reply.get("answer")
    except Exception as error:  # noqa: BLE001  # the client must not notice; the record says what it was
        outcome = failure(error)
    watchdog.cancel()
    if answer is not None:
        _print(event, answer)
    if outcome:
        _note(event, outcome, time.monotonic() - began)
    return 0


def failure(error: Exception) -> str:
    """Return the line about an error for the record."""
    from memsweep.secrets.find import redacted  # late: the rules take long to load

    return redacted(f"failed: {type(error).__name__}: {error!s:.200}")[0]


def _asked(event: Event, raw: bytes, began: float) -> Mapping[str, Any] | None:
    """The reply of a server, if there is one and the event is worth it."""
    if not is_for_a_server(event):
        return None
    from memsweep.hooks.asking import asked

    return asked(event.name, raw, began)


def _handled(event: Event) -> tuple[Answer, str]:
    from memsweep.hooks.handle import handle
    from memsweep.settings import load_settings

    return handle(event, load_settings())


def _read(name: str) -> tuple[Event, bytes]:
    if name == DRAIN:
        return Event(name), b""
    if name not in EVENTS:
        raise ValueError(f"there is no event {name!r:.60}")
    raw = sys.stdin.buffer.read(_MOST_INPUT)
    return read_event(name, json.loads(raw)), raw


def _print(event: Event, answer: Mapping[str, Any]) -> None:
    said = {"hookSpecificOutput": {"hookEventName": event.name, **answer}}
    print(json.dumps(said), flush=True)


def _give_up(event: Event) -> None:
    _note(event, "out of time", SECONDS.get(event.name, 1.0))
    os._exit(0)


def _note(event: Event, outcome: str, seconds: float) -> None:
    from memsweep.settings import load_settings

    try:
        note(load_settings().home, event, outcome, seconds)
    except MemsweepError:
        return  # there is nobody left to tell


def note(home: Path, event: Event, outcome: str, seconds: float, **more: str) -> None:
    """In the list of runs."""
    from memsweep.project.runs import note_run

    name = event.name if event.name in SECONDS else "unknown"  # whatever else somebody wrote there
    note_run(home, name, time.time(), seconds, outcome, client=event.client, folder=event.folder[:500], **more)
