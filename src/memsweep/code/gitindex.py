"""Reads the names out of git's index file, so that tracked files are known even where git cannot run.

A tracked file is indexed although .gitignore matches it, and only the index knows which are tracked.
Format: https://git-scm.com/docs/index-format
"""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER = struct.Struct(">4sII")
_FIXED = 62
_EXTENDED_FLAG = 0x4000
_GITLINK = 0o160000


def tracked_names(index: Path) -> frozenset[bytes]:
    """Names from the top of the work tree; none when there is no index, or none that can be read.

    Split and sparse indexes hold only some of the names; the rest is then judged by .gitignore alone.
    """
    try:
        data = index.read_bytes()
        return frozenset(_names(data))
    except (OSError, struct.error, ValueError, IndexError):
        return frozenset()


def _names(data: bytes) -> list[bytes]:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index that is known here")
    names: list[bytes] = []
    previous = b""
    position = _HEADER.size
    for _ in range(count):
        mode, flags = struct.unpack_from(">I", data, position + 24)[0], _flags(data, position)
        start = position + _FIXED + (2 if flags & _EXTENDED_FLAG else 0)
        if version == 4:
            drop, start = _varint(data, start)
            end = data.index(b"\0", start)
            previous = previous[: len(previous) - drop] + data[start:end]
            position = end + 1
        else:
            end = data.index(b"\0", start)
            previous = data[start:end]
            # Entries are padded with one to eight zero bytes to a multiple of eight.
            position += (end - position + 8) // 8 * 8
        if mode != _GITLINK:
            names.append(previous)
    return names


def _flags(data: bytes, position: int) -> int:
    return int(struct.unpack_from(">H", data, position + 60)[0])


def _varint(data: bytes, position: int) -> tuple[int, int]:
    byte = data[position]
    value = byte & 0x7F
    while byte & 0x80:
        position += 1
        byte = data[position]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, position + 1
