"""A disk that refuses what it is told to refuse, below real SQLite files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

Refusals = dict[tuple[str, str], type[apsw.Error]]
"""What fails, by operation (`write`, `sync`, `truncate`) and by the end of the file's name (`.db`, `-wal`)."""


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        self._name = str(name.filename() if isinstance(name, apsw.URIFilename) else name or "")

    def xWrite(self, data: Any, offset: int) -> None:
        self._disk.refuse("write", self._name)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._disk.refuse("sync", self._name)
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        self._disk.refuse("truncate", self._name)
        super().xTruncate(size)


class Disk(apsw.VFS):
    """While it is there, every new connection goes through it."""

    def __init__(self) -> None:
        super().__init__("refusing", "unix", makedefault=True)
        self.refusals: Refusals = {}
        self.refused = 0

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File(self, name, flags)

    def refuse(self, operation: str, name: str) -> None:
        for (refused, ending), error in self.refusals.items():
            if operation == refused and name.endswith(ending):
                self.refused += 1
                raise error("refused by the disk")


@contextmanager
def refusing_disk() -> Iterator[Disk]:
    disk = Disk()
    try:
        yield disk
    finally:
        disk.unregister()
