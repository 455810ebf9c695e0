"""Work that no client waits for: it is written down, and a process of its own does it and ends.

Whoever drains the spool does so alone, until it is empty. A process that dies leaves its entry to the next one.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from memsweep.errors import MemsweepError, NotFound
from memsweep.hooks.event import CLIENT_NAMES, DRAIN, Event, edited_files
from memsweep.hooks.files import HookFiles, Part, SpoolEntry
from memsweep.model.frozen import frozen

if TYPE_CHECKING:
    from pathlib import Path

    from memsweep.app import App
    from memsweep.context.service import ContextWindow
    from memsweep.model.origin import Origin
    from memsweep.operation import Sync
    from memsweep.services.memory import Memory
    from memsweep.settings import Settings


OpenApp = Callable[["Settings", "Origin", str], "App"]
"""Opens an app for the project of a folder: one of its own, or one beside that of a server."""


def own_app(settings: Settings, origin: Origin, project: str) -> App:
    """A client waits for it, so nothing is read that a model would have to be loaded for."""
    from memsweep.app import App
    from memsweep.model.frozen import replace
    from memsweep.settings.fields import Search

    settings = replace(settings, search=Search())
    return App(settings, origin.actor, opened_by=origin, project=project)


@frozen
class HookSession:
    app: App
    files: HookFiles
    event: Event
    open_app: OpenApp

    @classmethod
    def opened(cls, settings: Settings, files: HookFiles, event: Event, open_app: OpenApp) -> HookSession:
        """Open the session. A person's words there are a person's; the client's own name and session are known."""
        from memsweep.model.origin import Origin

        origin = Origin("hook", CLIENT_NAMES[event.client], session=event.session, tool=event.tool, tier="person")
        app = open_app(settings, origin, event.folder)
        app.quarantine = app.untold
        return cls(app, files, event, open_app)

    @property
    def memory(self) -> Memory:
        return self.app.memory()

    @property
    def window(self) -> ContextWindow[Sync]:
        return self.memory.context()

    def state(self, part: Part) -> dict[str, Any]:
        return self.files.session(self.event.session, part)

    def keep(self, part: Part, state: dict[str, Any]) -> None:
        self.files.keep_session(self.event.session, part, state)


_WAIT_SECONDS = 5.0
_MOST_SECONDS = 40.0
_MOMENT_SECONDS = 1.5
_LOST_SECONDS = 6.0
"""What a compaction has lost is worth waiting for; a model takes longer than that to summarise it."""
_MOST_TRIES = 3
"""An entry that ended that many processes is left out."""


def spool(files: HookFiles, event: Event) -> None:
    """Write down what is to be done, and start who does it."""
    edited = tuple(edited_files(event)) if event.name == "PostToolUse" else ()
    transcript = "" if edited else event.transcript
    files.spool(SpoolEntry(event.client, event.session, event.folder, transcript, edited, until=_until(event)))
    start_draining(files)


def _until(event: Event) -> int | None:
    """Up to where the transcript is to be read: what a compaction drops is known only before the client says so there.

    A session that ends writes its last lines afterwards.
    """
    if event.name not in ("PreCompact", "Stop"):
        return None
    try:
        return os.stat(event.transcript).st_size
    except (OSError, ValueError):
        raise NotFound(f"the transcript {event.transcript!r:.200} cannot be read.") from None


def start_draining(files: HookFiles) -> None:
    """A process that nobody waits for."""
    import subprocess  # late: most events start none

    command = [sys.executable, "-P", "-m", "memsweep", "hook", DRAIN]  # -P: nothing in the project is imported
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=files.home,
        **_apart(sys.platform),
    )
    threading.Thread(target=process.wait, daemon=True).start()  # where this one lives on, it must not leave a zombie


def _apart(platform: str) -> dict[str, Any]:
    """Return the options that keep a process alive when the one that started it, or its window, is closed."""
    if platform == "win32":
        return {"creationflags": 0x00000008 | 0x00000200}  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP
    return {"start_new_session": True}


@contextlib.contextmanager
def alone(files: HookFiles, wait_seconds: float) -> Iterator[bool]:
    """Take the lock on transcripts; yield whether it was free."""
    from filelock import FileLock, Timeout

    lock = FileLock(files.lock_file(), mode=0o600)
    try:
        lock.acquire(timeout=wait_seconds)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def drain(
    settings: Settings,
    files: HookFiles,
    open_app: OpenApp = own_app,
    *,
    wait_seconds: float = _WAIT_SECONDS,
    most_seconds: float = _MOST_SECONDS,
    counting: bool = True,
) -> str:
    """Do what is written down; says how much that was. The tries of a process that ends with its hook do not count."""
    if not files.spooled():
        return "nothing to do"
    done = 0
    files.forget_old_sessions(time.time())
    with alone(files, wait_seconds) as is_alone:
        end = time.monotonic() + most_seconds
        while is_alone and (waiting := files.spooled()):
            path = waiting[0]
            entry = files.begin(path, _MOST_TRIES, counting=counting)
            if entry is None or _is_done(settings, files, path, entry, end, open_app):
                files.finish(path)
                done += entry is not None
            if time.monotonic() >= end:
                break
    return f"did {done}" if is_alone else "another one does it"


def catch_up(settings: Settings, files: HookFiles, event: Event, open_app: OpenApp) -> None:
    """Read waiting transcripts for this session, if that takes no longer than a moment."""
    if not files.spooled():
        return
    seconds = _LOST_SECONDS if event.source == "compact" else _MOMENT_SECONDS
    worker = threading.Thread(target=_drain_quietly, args=(settings, files, open_app, seconds), daemon=True)
    worker.start()
    worker.join(seconds)
    if worker.is_alive() or files.spooled():
        start_draining(files)


def _drain_quietly(settings: Settings, files: HookFiles, open_app: OpenApp, seconds: float) -> None:
    with contextlib.suppress(MemsweepError, OSError):  # the next one tries again, and its record says what it was
        drain(settings, files, open_app, wait_seconds=seconds, most_seconds=seconds, counting=False)


def _is_done(
    settings: Settings, files: HookFiles, path: Path, entry: SpoolEntry, end: float, open_app: OpenApp
) -> bool:
    """Do what an entry says; False if time was up before all of it was."""
    from memsweep.hooks import listening, starting

    event = Event(DRAIN, entry.client, entry.session, entry.folder, entry.transcript)
    session = HookSession.opened(settings, files, event, open_app)
    try:
        if not files.is_on(session.app.workspace_id):
            return True
        again, last_try = entry.tries > 1, entry.tries == _MOST_TRIES
        while entry.transcript and listening.take_in(session, entry.until, again=again, last_try=last_try):
            files.go_on(path, entry)
            if time.monotonic() >= end:
                return False
        if entry.transcript:
            starting.prepared(session)
        for root in _roots_of(session.memory.code.roots(), entry.edited):
            session.memory.code.index(root)
        return True
    finally:
        session.app.close()


def _roots_of(roots: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The indexed folders that these files lie in; the inner one of two is enough."""
    found = []
    for path in map(os.path.realpath, paths):
        within = [root for root in roots if path.startswith(root.rstrip(os.sep) + os.sep)]
        found += [max(within, key=len)] if within else []
    return list(dict.fromkeys(found))
