"""A server answers hooks of the same home and account, for any project: it has imported and loaded everything already.

What a hook says is settled as the command would: by its own variables, read anew for each event. Where they lead to
another home, store or model than this process has, or it is another memsweep, the hook is sent away and does it itself.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memsweep.errors import MemsweepError
from memsweep.hooks import asking, sockets
from memsweep.hooks.door import failure, note
from memsweep.hooks.event import EVENTS, read_event
from memsweep.hooks.files import HookFiles
from memsweep.hooks.handle import handle
from memsweep.places import config_file, environment, handed_over
from memsweep.settings import Settings, load_settings

if TYPE_CHECKING:
    from memsweep.app import App

logger = logging.getLogger("memsweep.hooks")
_SECONDS = 1.0
"""For each thing that a hook has to say; it says all of it at once."""
_MOST_HELLO_BYTES = 1 << 20
_AT_ONCE = 4
_ODD = (ValueError, TypeError, LookupError, AttributeError, OverflowError)
"""What is said there and is no introduction of ours."""


class HookListener:
    """Listens in a thread until it is stopped, or the process ends."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._free = threading.BoundedSemaphore(_AT_ONCE)
        self._socket: socket.socket | None = None
        self._path = ""

    def start(self) -> None:
        """Listen to hooks. Do nothing where no hook was ever called, or where no socket is to be had."""
        files = HookFiles(self._app.settings.home)
        if not sockets.is_offered() or not files.is_in_use():
            return
        try:
            folder = files.servers_folder()
            if not sockets.is_private(folder):
                raise PermissionError(f"{folder} is open to others")
            self._socket, self._path = sockets.listening(folder)
        except OSError as error:
            logger.info("hooks are not answered here: %s", error)
            return
        threading.Thread(target=self._accept, args=(self._socket,), name="hooks", daemon=True).start()

    def stop(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits
            self._socket.close()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                line, _ = listening.accept()
            except OSError:  # stopped, or out of descriptors: a socket that nobody answers at would only cost time
                self.stop()
                return
            if self._free.acquire(blocking=False):
                threading.Thread(target=self._converse, args=(line,), name="hook", daemon=True).start()
            else:
                line.close()

    def _converse(self, line: socket.socket) -> None:
        try:
            with line, contextlib.suppress(OSError, MemsweepError, RecursionError, *_ODD):
                if sockets.is_of_our_account(line):
                    self._answer(line)
        finally:
            self._free.release()

    def _answer(self, line: socket.socket) -> None:
        hello = json.loads(sockets.received(line, None, time.monotonic() + _SECONDS, _MOST_HELLO_BYTES))
        settings, size = self._settings_of(hello), int(hello["bytes"])
        if settings is None or not 0 <= size <= asking.MOST_EVENT_BYTES:
            return
        line.sendall(asking.READY)
        raw = sockets.received(line, size, time.monotonic() + _SECONDS, size)
        event = read_event(hello["event"], json.loads(raw))
        event = replace(event, folder=os.path.join(str(hello["folder"]), event.folder))
        if not os.path.isabs(settings.project or event.folder):  # never a folder of this process
            return
        try:
            answer, outcome = handle(event, settings, self._app.beside)
        except Exception as error:  # noqa: BLE001  # as in the door of the command
            answer, outcome = None, failure(error)
        # Before the answer: with it the session may end, and this process.
        note(settings.home, event, outcome, time.monotonic() - float(hello["began"]), by="server")
        line.settimeout(_SECONDS)
        line.sendall(json.dumps({"answer": answer, "outcome": outcome}).encode() + b"\n")

    def _settings_of(self, hello: Mapping[str, Any]) -> Settings | None:
        """The settings of the hook, if this process can stand in for it."""
        if hello["code"] != asking.code() or hello["event"] not in EVENTS:
            return None
        environ = dict(environment())
        for name in handed_over(environ):
            del environ[name]
        environ |= handed_over({str(name): str(value) for name, value in hello["variables"].items()})
        settings, own = load_settings(environ), self._app.settings
        same = str(settings.home) == hello["home"] and str(config_file(environ).absolute()) == hello["config"]
        known = (settings.home, settings.store, settings.embedding) == (own.home, own.store, own.embedding)
        return settings if same and known else None
