"""Check that the disk gives a database file back, whatever stands in it."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

_BYTES_A_READ = 1 << 20


def refusal(path: Path) -> str:
    """Return the disk's error when a database file and its log are read to the end; empty if it reads all.

    SQLite's own checks do not tell: a page that cannot be read is to them a row that an index does not have.
    """
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            if os.path.isfile(file):
                _read(file)
        except apsw.IOError as error:
            return f"{file} ({error})"
        except apsw.CantOpenError:  # it has gone meanwhile, or may not be read, which others say
            continue
    return ""


def _read(path: Path) -> None:
    """Through SQLite: to open and close a file beside it would drop the locks that this process has on it."""
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    try:
        size = file.xFileSize()
        for offset in range(0, size, _BYTES_A_READ):
            file.xRead(min(_BYTES_A_READ, size - offset), offset)
    finally:
        file.xClose()
