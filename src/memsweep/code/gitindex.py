"""Reads the names out of git's index file, so that tracked files are known even where git is not asked.

A tracked file is indexed although .gitignore matches it, and only the index knows which are tracked.
The file may come from anywhere: what it claims is checked and bounded, and what it does not tell is said.
Format: https://git-scm.com/docs/index-format
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memsweep.regular import read_regular

LIMIT_BYTES = 256 * 1024**2
"""Two million files. More is not read, and version 4 could make far more of it than it takes."""
_LONGEST_NAME = 4096
_LONGEST_VARINT = 5

_HEADER = struct.Struct(">4sII")
_EXTENSION = struct.Struct(">4sI")
_MODE_AT = 24
_EXTENDED_FLAG = 0x4000
_HASH_SIZES = (20, 32)
_FILE, _EXECUTABLE, _SYMLINK, _GITLINK, _FOLDER = 0o100644, 0o100755, 0o120000, 0o160000, 0o040000
_OLD_GROUP_WRITABLE = 0o100664
_MODES = frozenset({_FILE, _EXECUTABLE, _SYMLINK, _GITLINK, _FOLDER, _OLD_GROUP_WRITABLE})


@dataclass(frozen=True, slots=True)
class Tracked:
    """Names from the top of the work tree, and the folders ("a/b/", or "" for all) where there may be more."""

    names: frozenset[bytes] = frozenset()
    unknown_below: tuple[bytes, ...] = ()

    def may_hold(self, path: bytes) -> bool:
        """Return whether a path, or one below it if it ends in a slash, could be tracked without being named."""
        return any(path.startswith(folder) or folder.startswith(path) for folder in self.unknown_below)


_NOTHING_KNOWN = Tracked(unknown_below=(b"",))


def read_tracked(index: Path) -> Tracked:
    """Read an index. Where there is none nothing is tracked; from an unreadable one nothing is known."""
    try:
        data = read_regular(index, LIMIT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Tracked()
    except OSError:
        return _NOTHING_KNOWN
    return parse_index(data)


def parse_index(data: bytes) -> Tracked:
    """Total: bytes that are no index tell nothing."""
    for hash_size in _HASH_SIZES:  # which of them a repository has is not said in its index
        try:
            return _Reader(data, hash_size).tracked()
        except (struct.error, ValueError, IndexError):
            continue
    return _NOTHING_KNOWN


class _Reader:
    """One index whose object names have a certain size."""

    def __init__(self, data: bytes, hash_size: int) -> None:
        self.data = data
        self.hash_size = hash_size
        signature, self.version, self.count = _HEADER.unpack_from(data)
        if signature != b"DIRC" or self.version not in (2, 3, 4):
            raise ValueError("not an index that is known here")
        self.position = _HEADER.size

    def tracked(self) -> Tracked:
        names: list[bytes] = []
        folders: list[bytes] = []
        total = 0
        for name, mode in self._entries():
            total += len(name)
            if total > LIMIT_BYTES:
                raise ValueError("names that add up to more than any repository has")
            if mode == _FOLDER:
                folders.append(name)  # of a sparse index: what is below is in a tree object
            elif mode != _GITLINK and name:
                names.append(name)
        # Most entries of a split index are in another file, and this one says which of them are gone.
        is_split = any(signature == b"link" for signature in self._extensions())
        return Tracked(frozenset(names), (b"",) if is_split else tuple(folders))

    def _entries(self) -> Iterator[tuple[bytes, int]]:
        name = b""
        for _ in range(self.count):
            name, mode = self._entry(name)
            if mode not in _MODES or len(name) > _LONGEST_NAME:
                raise ValueError("not an entry")
            yield name, mode

    def _entry(self, previous: bytes) -> tuple[bytes, int]:
        begin, data = self.position, self.data
        flags_at = begin + 40 + self.hash_size
        mode: int = struct.unpack_from(">I", data, begin + _MODE_AT)[0]
        flags: int = struct.unpack_from(">H", data, flags_at)[0]
        start = flags_at + (4 if flags & _EXTENDED_FLAG else 2)
        kept = b""
        if self.version == 4:
            drop, start = _varint(data, start)
            if drop > len(previous):
                raise ValueError("a name that begins before its beginning")
            kept = previous[: len(previous) - drop]
        end = data.index(b"\0", start, start + _LONGEST_NAME + 1)
        # Before version 4 entries are padded with one to eight zero bytes to a multiple of eight.
        self.position = end + 1 if self.version == 4 else begin + (end - begin + 8) // 8 * 8
        return kept + data[start:end], mode

    def _extensions(self) -> Iterator[bytes]:
        position, end = self.position, len(self.data) - self.hash_size
        if position > end:
            raise ValueError("cut off")
        while position + _EXTENSION.size <= end:
            signature, size = _EXTENSION.unpack_from(self.data, position)
            yield signature
            position += _EXTENSION.size + size
        if position != end:
            raise ValueError("an extension that does not end where the index does")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = -1
    for at in range(position, position + _LONGEST_VARINT):
        value = ((value + 1) << 7) | (data[at] & 0x7F)
        if not data[at] & 0x80:
            return value, at + 1
    raise ValueError("a number that does not end")
