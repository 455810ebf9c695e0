"""Records what processes do to the files below a folder, in one order for all of them.

SQLite's files are seen through an apsw VFS: every write, truncation, sync, creation and deletion of a database, a log
or a journal. The shared memory of a log (`-shm`) passes by; it is no file that survives, SQLite makes it again. What
Python does (drafts, backups, vector files, `schedule.json`, folders) is seen by wrapping the functions of `os` that
create, rename, link, remove and sync. The content of files that Python writes is read just before the next recorded
event, so it counts as written, not yet synced, at that point.

Each process holds one lock while it does something and appends it to the common log, so the order of the log is the
order in which it happened.
"""

import builtins
import contextlib
import fcntl
import io
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import apsw

T = TypeVar("T")
Event = tuple[Any, ...]
_MAKES_A_JOURNAL = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL
_IGNORED = ("-shm", ".lock", "lock")


class Recorder:
    """The log of one process; several of them share a file."""

    def __init__(self, root: Path, log: Path, before: Callable[[int], None] = lambda number: None) -> None:
        self.root = str(root)
        self._log = os.open(log, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        self._threads = threading.RLock()
        self._written: dict[str, bytes] = {}
        self._before = before
        self.events = 0

    def do(self, act: Callable[[], T], event: Callable[[T], Event | None]) -> T:
        """Do something and record it, while nobody else does anything."""
        self._before(self.events)
        with self._alone():
            self._look_at_plain_files()
            result = act()
            said = event(result)
            if said is not None:
                self._append(said)
            return result

    def note(self, *event: Any) -> None:
        self.do(lambda: None, lambda _: event)

    def wrote(self, path: str) -> None:
        """Python has opened a file to write; its content is looked at from now on."""
        self._written.setdefault(path, b"")

    def handed_over(self, path: str) -> None:
        """From now on SQLite writes it, which is seen write by write."""
        with self._alone():
            self._look_at_plain_files()
            self._written.pop(path, None)

    def concerns(self, path: str) -> bool:
        return path.startswith(self.root) and not path.endswith(_IGNORED)

    def _look_at_plain_files(self) -> None:
        for path, known in list(self._written.items()):
            try:
                content = Path(path).read_bytes()
            except OSError:
                del self._written[path]
                continue
            if content != known:
                self._written[path] = content
                self._append(("content", path, content))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with self._threads:
            fcntl.flock(self._log, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._log, fcntl.LOCK_UN)

    def _append(self, event: Event) -> None:
        self.events += 1
        data = pickle.dumps(event)
        os.write(self._log, len(data).to_bytes(8, "big") + data)


def read_log(log: Path) -> list[Event]:
    events, data, at = [], log.read_bytes(), 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "big")
        events.append(pickle.loads(data[at + 8 : at + 8 + size]))
        at += 8 + size
    return events


class _File(apsw.VFSFile):
    def __init__(self, recorder: Recorder, path: str, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._recorder, self._path = recorder, path
        self._handle = (os.getpid(), id(self), recorder.events)

    def opened(self, existed: bool, kind: int) -> Event:
        return ("open", self._handle, self._path, not existed, bool(kind & _MAKES_A_JOURNAL))

    def xWrite(self, data: bytes, offset: int) -> None:
        write = super().xWrite
        self._recorder.do(lambda: write(data, offset), lambda _: ("write", self._handle, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        cut = super().xTruncate
        self._recorder.do(lambda: cut(size), lambda _: ("truncate", self._handle, size))

    def xSync(self, flags: int) -> None:
        sync = super().xSync
        self._recorder.do(lambda: sync(flags), lambda _: ("sync", self._handle))


class _Vfs(apsw.VFS):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__("recorder", "unix", makedefault=True, maxpathname=1024)
        self._recorder = recorder

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if not path or not self._recorder.concerns(path):
            return apsw.VFSFile("unix", name, flags)
        self._recorder.handed_over(path)
        existed = os.path.exists(path)
        kind = flags[0]
        return self._recorder.do(
            lambda: _File(self._recorder, path, name, flags), lambda file: file.opened(existed, kind)
        )

    def xDelete(self, path: str, syncdir: bool) -> None:
        delete = super().xDelete
        self._recorder.do(
            lambda: delete(path, syncdir),
            lambda _: ("delete", path, syncdir) if self._recorder.concerns(path) else None,
        )


@contextlib.contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Record everything that this process does from now on; meant for a process that ends soon after."""
    vfs = _Vfs(recorder)
    kept = {name: getattr(os, name) for name in _WRAPPERS}
    opening = io.open, builtins.open
    for name, wrap in _WRAPPERS.items():
        setattr(os, name, wrap(recorder, kept[name]))
    io.open = builtins.open = _watched_open(recorder, io.open)  # type: ignore[assignment]
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(os, name, function)
        io.open, builtins.open = opening
        vfs.unregister()


def _text(path: Any) -> str:
    if isinstance(path, int):
        return os.readlink(f"/proc/self/fd/{path}")
    return os.path.abspath(os.fspath(path))


def _naming(what: str, places: int) -> Callable[[Recorder, Any], Any]:
    """Wrap a function whose first arguments are the paths that it changes."""

    def wrap(recorder: Recorder, function: Any) -> Any:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            paths = [_text(path) for path in arguments[:places]]
            if not any(map(recorder.concerns, paths)):
                return function(*arguments, **named)
            return recorder.do(lambda: function(*arguments, **named), lambda _: (what, *paths))

        return wrapped

    return wrap


def _watched_creating(recorder: Recorder, function: Any) -> Any:
    def wrapped(path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        if isinstance(path, int) or not flags & (os.O_CREAT | os.O_TRUNC) or not recorder.concerns(_text(path)):
            return int(function(path, flags, *arguments, **named))
        text = _text(path)
        existed = os.path.exists(text)
        made = recorder.do(
            lambda: function(path, flags, *arguments, **named), lambda _: None if existed else ("create", text)
        )
        recorder.wrote(text)
        return int(made)

    return wrapped


def _watched_open(recorder: Recorder, function: Any) -> Any:
    def wrapped(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if isinstance(file, int) or not set(mode) & set("wax+") or not recorder.concerns(_text(file)):
            return function(file, mode, *arguments, **named)
        text = _text(file)
        existed = os.path.exists(text)
        opened = recorder.do(
            lambda: function(file, mode, *arguments, **named), lambda _: None if existed else ("create", text)
        )
        recorder.wrote(text)
        return opened

    return wrapped


_WRAPPERS: dict[str, Callable[[Recorder, Any], Any]] = {
    "open": _watched_creating,
    "mkdir": _naming("mkdir", 1),
    "rmdir": _naming("rmdir", 1),
    "unlink": _naming("unlink", 1),
    "remove": _naming("unlink", 1),
    "rename": _naming("rename", 2),
    "replace": _naming("rename", 2),
    "link": _naming("link", 2),
    "fsync": _naming("fsync", 1),
}
