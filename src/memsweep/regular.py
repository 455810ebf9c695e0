"""Reads files that somebody else wrote: regular ones only, and never more than a limit.

A pipe would block, a device would never end, and a link in a repository may lead to either.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# A pipe that takes the place of the file after the first look must not make us wait for a writer.
WRITING = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
"""Bytes as they are: Windows would write two for the end of a line."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


class NotRegular(OSError):
    """A folder, a pipe, a device, or a symlink that is not to be followed; `kind` says which."""

    kind = "something else"


def read_regular(place: str | Path, limit: int, *, follow_symlinks: bool = True) -> bytes:
    """All of a file; an OSError if it is longer than `limit`."""
    handle = open_regular(place, follow_symlinks=follow_symlinks)
    with os.fdopen(handle, "rb") as file:
        too_long = os.fstat(handle).st_size > limit
        data = b"" if too_long else file.read(limit + 1)
        if too_long or len(data) > limit:
            raise OSError(errno.EFBIG, f"it is larger than {limit:,} bytes", str(place))
        return data


def json_object(raw: bytes) -> dict[str, Any]:
    """The object that somebody wrote; an empty one if it is none."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_start(place: str | Path, size: int, *, follow_symlinks: bool = True) -> bytes:
    """The first bytes of a file."""
    with os.fdopen(open_regular(place, follow_symlinks=follow_symlinks), "rb") as file:
        return file.read(size)


def open_regular(place: str | Path, *, follow_symlinks: bool = True) -> int:
    """A regular file, open for reading; an OSError if it is something else."""
    # Looked at before it is opened, because opening a device can do something; and after, because it may have changed.
    _require_regular(os.stat(place, follow_symlinks=follow_symlinks), place)
    handle = os.open(place, _FLAGS | (0 if follow_symlinks else getattr(os, "O_NOFOLLOW", 0)))
    try:
        _require_regular(os.fstat(handle), place)
    except OSError:
        os.close(handle)
        raise
    return handle


def _require_regular(found: os.stat_result, place: str | Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        refused = NotRegular(errno.EINVAL, "it is not a regular file", str(place))
        refused.kind = next((name for is_one, name in _KINDS if is_one(found.st_mode)), refused.kind)
        raise refused
