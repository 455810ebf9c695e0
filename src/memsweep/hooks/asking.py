"""A hook hands its event to a server that has everything in memory already. Standard library alone.

The hook says who it is, the server says that it will, and only then the hook sends the event: so either of them can
give up before, and nothing is done twice. Whatever goes wrong, the hook does the work itself.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import memsweep
from memsweep.errors import MemsweepError
from memsweep.places import config_file, environment, handed_over, home_at_a_glance, working_directory

if TYPE_CHECKING:
    import socket

READY = b"ready\n"
MOST_EVENT_BYTES = 8 << 20
_MOST_ANSWER_BYTES = 64 << 20
"""Output that was cut comes back with all that was not, in JSON that escapes every letter beyond ASCII."""
_ANSWER_SECONDS = 60.0
"""The watchdog of the hook ends it long before."""


def asked(name: str, raw: bytes, began: float, environ: Mapping[str, str] | None = None) -> Mapping[str, Any] | None:
    """Return a server's answer to the event, `answer` and `outcome`; None if there is none that will."""
    if len(raw) > MOST_EVENT_BYTES:
        return None
    try:
        hello = introduction(name, len(raw), began, environment() if environ is None else environ)
        folder = os.path.join(hello["home"], "hooks", "servers")
        if not os.listdir(folder):  # nobody listens, and what is needed to talk to them takes a while to import
            return None
        from memsweep.hooks import sockets

        for line in sockets.servers(folder):
            if (reply := _reply_of(line, hello, raw)) is not None:
                return reply
    except (OSError, ValueError, MemsweepError):
        pass
    return None


def introduction(name: str, size: int, began: float, environ: Mapping[str, str]) -> dict[str, Any]:
    """Everything that a server has to agree with, or takes over from the hook."""
    return {
        "code": code(),
        "home": str(home_at_a_glance(environ)),
        "config": str(config_file(environ).absolute()),
        "variables": handed_over(environ),
        "folder": working_directory(),
        "event": name,
        "bytes": size,
        "began": began,
    }


def code() -> list[str]:
    """Return the version and folder of this memsweep; another one may have other rules."""
    return [memsweep.__version__, os.path.dirname(memsweep.__file__)]


def _reply_of(line: socket.socket, hello: Mapping[str, Any], raw: bytes) -> Mapping[str, Any] | None:
    from memsweep.hooks import sockets

    try:
        line.sendall(json.dumps(hello).encode() + b"\n")
        if sockets.received(line, len(READY), time.monotonic() + sockets.READY_SECONDS, len(READY)) != READY:
            return None
        line.sendall(raw)
        reply = json.loads(sockets.received(line, None, time.monotonic() + _ANSWER_SECONDS, _MOST_ANSWER_BYTES))
    except OSError:
        return None
    return reply if isinstance(reply, dict) else None
