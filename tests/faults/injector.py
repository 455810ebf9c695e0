"""Disk errors on order: the n-th thing that is done to a disk fails, once or from then on.

SQLite's side is a thin layer over its own `unix` VFS, made with ctypes: the pointers to its `xOpen` and `xDelete`
and to the methods of each file are replaced by functions that return SQLite's error codes, as the real ones do when
the system refuses. (An exception raised in an apsw VFS would not do: apsw raises it even where SQLite has
handled the error, as in a checkpoint after a commit.) Python's side wraps the functions of `os` and the `write` of
opened files.
"""

import builtins
import contextlib
import ctypes
import errno
import io
import os
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p, cast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

# What the `unix` VFS answers when a call is refused: on a full disk, and on a broken one.
_CODES = {
    "open": (apsw.SQLITE_CANTOPEN, apsw.SQLITE_CANTOPEN),
    "delete": (apsw.SQLITE_IOERR_DELETE, apsw.SQLITE_IOERR_DELETE),
    "read": (None, apsw.SQLITE_IOERR_READ),
    "write": (apsw.SQLITE_FULL, apsw.SQLITE_IOERR_WRITE),
    "truncate": (apsw.SQLITE_IOERR_TRUNCATE, apsw.SQLITE_IOERR_TRUNCATE),
    "sync": (apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_FSYNC),
    "shared memory": (apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMSIZE),
}
_ERRNO = {"full": errno.ENOSPC, "broken": errno.EIO}


@dataclass
class Injector:
    """Counts what is done to the files below a folder; refuses the n-th, and all after it if it is to last."""

    root: str = ""
    at: int = 0
    kind: str = "full"
    lasts: bool = False
    done: int = 0
    refused: int = 0
    what: str = ""
    bad: tuple[str, range] | None = None
    """A file, and the bytes of it that can never be read."""

    def arm(self, root: Path, at: int, kind: str, *, lasts: bool) -> None:
        self.root, self.at, self.kind, self.lasts = str(root), at, kind, lasts
        self.done, self.refused, self.what = 0, 0, ""

    def disarm(self) -> None:
        self.at = 0

    def refuses(self, call: str, path: str) -> bool:
        if not self.at or not path.startswith(self.root):
            return False
        if self.kind == "full" and call in _FREE:
            return False  # a full disk can be read, and files on it removed
        self.done += 1
        if self.done == self.at or (self.lasts and self.done > self.at):
            self.refused += 1
            self.what = self.what or f"{call} of {os.path.basename(path)}"
            return True
        return False

    def is_bad(self, path: str, amount: int, offset: int) -> bool:
        """Whether a read meets bytes that are bad."""
        if self.bad is None or path != self.bad[0]:
            return False
        return offset < self.bad[1].stop and self.bad[1].start < offset + amount

    def code(self, call: str) -> int:
        full, broken = _CODES[call]
        return int((full if self.kind == "full" else broken) or broken)

    def check(self, call: str, path: Any) -> None:
        """Python's side: an error as the system raises it."""
        text = os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else os.path.abspath(os.fspath(path))
        if self.refuses(call, text):
            number = _ERRNO[self.kind]
            raise OSError(number, os.strerror(number), text)


_FREE = {"read", "delete", "unlink", "rmdir"}


class _Methods(Structure):
    """`sqlite3_io_methods`; the methods of its third version are passed by, as mapping is not used."""

    _fields_ = [
        ("version", c_int),
        *((name, c_void_p) for name in ("close", "read", "write", "truncate", "sync", "size", "lock", "unlock")),
        *((name, c_void_p) for name in ("reserved", "control", "sector", "traits", "shm_map", "shm_lock")),
        *((name, c_void_p) for name in ("shm_barrier", "shm_unmap", "fetch", "unfetch")),
    ]


class _File(Structure):
    _fields_ = [("methods", POINTER(_Methods))]


class _Vfs(Structure):
    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
        ("delete", c_void_p),
    ]


# Names are passed as addresses: SQLite keeps them, and what follows them in memory, for as long as a file is open.
_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int))
_DELETE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_READ = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
_SHM_MAP = CFUNCTYPE(c_int, c_void_p, c_int, c_int, c_int, POINTER(c_void_p))
_CLOSE = CFUNCTYPE(c_int, c_void_p)


class _Layer:
    """Our functions over the real ones. Kept for the life of the process: SQLite holds pointers to them."""

    def __init__(self, injector: Injector) -> None:
        self._injector = injector
        self._paths: dict[int, str] = {}
        self._tables: dict[int, _Methods] = {}
        self._kept: list[Any] = []
        vfs = _unix_vfs()
        self._open, self._delete = _OPEN(vfs.open), _DELETE(vfs.delete)
        self._real = vfs.open, vfs.delete
        self._vfs = vfs
        self._kept += [opener := _OPEN(self._opened), deleter := _DELETE(self._deleted)]
        vfs.open, vfs.delete = (cast(function, c_void_p).value for function in (opener, deleter))

    def _opened(self, vfs: int, name: int | None, file: int, flags: int, out: Any) -> int:
        path = ctypes.string_at(name).decode() if name else ""
        if name and self._injector.refuses("open", path):
            _File.from_address(file).methods = POINTER(_Methods)()
            return self._injector.code("open")
        answer: int = self._open(vfs, name, file, flags, out)
        if answer == apsw.SQLITE_OK and name:
            opened = _File.from_address(file)
            self._paths[file] = path
            opened.methods = ctypes.pointer(self._table(ctypes.addressof(opened.methods.contents)))
        return answer

    def _deleted(self, vfs: int, name: int, sync_folder: int) -> int:
        if self._injector.refuses("delete", ctypes.string_at(name).decode()):
            return self._injector.code("delete")
        return int(self._delete(vfs, name, sync_folder))

    def _table(self, address: int) -> _Methods:
        """A copy of a table of methods, with ours in it."""
        if address in self._tables:
            return self._tables[address]
        real = _Methods.from_address(address)
        ours = _Methods.from_buffer_copy(real)
        kinds = (("read", _READ), ("write", _WRITE), ("truncate", _TRUNCATE), ("sync", _SYNC))
        for name, kind in kinds:
            setattr(ours, name, self._refusing(name, kind, kind(getattr(real, name))))
        if real.version >= 2 and real.shm_map:  # a log has none
            ours.shm_map = self._mapping(_SHM_MAP(real.shm_map))
        ours.close = self._closing(_CLOSE(real.close))
        self._tables[address] = ours
        return ours

    def _refusing(self, call: str, kind: Any, real: Callable[..., int]) -> int | None:
        def method(file: int, *arguments: Any) -> int:
            if self._injector.refuses(call, self._paths.get(file, "")):
                return self._injector.code(call)
            if call == "read" and self._injector.is_bad(self._paths.get(file, ""), *arguments[1:]):
                return int(apsw.SQLITE_IOERR_READ)
            return real(file, *arguments)

        return self._pointer(kind(method))

    def _mapping(self, real: Callable[..., int]) -> int | None:
        def method(file: int, region: int, size: int, extend: int, out: Any) -> int:
            if extend and self._injector.refuses("shared memory", self._paths.get(file, "")):
                out[0] = None
                return self._injector.code("shared memory")
            return real(file, region, size, extend, out)

        return self._pointer(_SHM_MAP(method))

    def _closing(self, real: Callable[..., int]) -> int | None:
        def method(file: int) -> int:
            self._paths.pop(file, None)
            return real(file)

        return self._pointer(_CLOSE(method))

    def _pointer(self, function: Any) -> int | None:
        self._kept.append(function)
        return cast(function, c_void_p).value


def _unix_vfs() -> _Vfs:
    pointer = c_void_p()
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
    path = f"{folder}/memsweep-faults-vfs-{os.getpid()}"
    db = apsw.Connection(path)
    try:
        db.execute("create table t (x)")
        assert db.file_control("main", apsw.SQLITE_FCNTL_VFS_POINTER, ctypes.addressof(pointer))
    finally:
        db.close()
        os.unlink(path)
    assert pointer.value is not None
    vfs = _Vfs.from_address(pointer.value)
    assert vfs.name == b"unix", vfs.name
    return vfs


class _Refusing:
    """An opened file whose writes may be refused."""

    def __init__(self, injector: Injector, file: Any, path: str) -> None:
        self._injector, self._file, self._path = injector, file, path

    def write(self, data: Any) -> Any:
        self._injector.check("write", self._path)
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Any:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._file.__exit__(*error)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)


@contextlib.contextmanager
def injecting() -> Iterator[Injector]:
    """Errors on order in this process, which had better end soon: SQLite keeps our functions."""
    injector = Injector()
    layer = _Layer(injector)
    kept = {name: getattr(os, name) for name in _CALLS}
    opening, fdopen = io.open, os.fdopen
    for name, call in _CALLS.items():
        setattr(os, name, _wrapped(injector, call, kept[name]))
    io.open = builtins.open = _opening(injector, opening)  # type: ignore[assignment]
    os.fdopen = _opening(injector, fdopen)
    try:
        yield injector
    finally:
        injector.disarm()
        for name, function in kept.items():
            setattr(os, name, function)
        io.open, builtins.open, os.fdopen = opening, opening, fdopen
        layer._vfs.open, layer._vfs.delete = layer._real


def _wrapped(injector: Injector, call: str, function: Any) -> Any:
    def wrapped(path: Any, *arguments: Any, **named: Any) -> Any:
        if injector.at:
            only_reads = call == "open" and not arguments[0] & (os.O_CREAT | os.O_TRUNC)
            injector.check("read" if only_reads else call, path)
        return function(path, *arguments, **named)

    return wrapped


def _opening(injector: Injector, function: Any) -> Any:
    def wrapped(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if not injector.at:
            return function(file, mode, *arguments, **named)
        path = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else os.path.abspath(os.fspath(file))
        writes = bool(set(mode) & set("wax+"))
        if not isinstance(file, int):
            injector.check("open" if writes else "read", path)
        opened = function(file, mode, *arguments, **named)
        return _Refusing(injector, opened, path) if writes and path.startswith(injector.root) else opened

    return wrapped


# `scandir` and `stat` are left alone: on a disk whose folders cannot be read, nothing can be promised.
_CALLS = {
    "open": "open",
    "mkdir": "mkdir",
    "unlink": "unlink",
    "remove": "unlink",
    "rename": "rename",
    "replace": "rename",
    "link": "link",
    "fsync": "sync",
    "truncate": "truncate",
}
