"""A model of a disk that may lose power: what is on it for sure, and what may be.

Rules of the model:
- A sync of a file makes its content and its size safe. Since the last one, any write may have reached the disk or not,
  whole or in some of its sectors of 512 or 4096 bytes. A write never reaches beyond its own bytes. Two writes to one
  place arrive in their order: the page cache holds only the later one.
- A file may have grown although what was written there has not arrived: there are zeros then.
- A name that was made, moved or removed is safe once its folder was synced. Until then the changes of a folder
  arrive in their order, but perhaps only the first few, as on a journalled file system; folders are independent.
- SQLite syncs the folder itself when it first syncs a log or a journal that it made (`strace` shows it).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.recorder import Event

STYLES = ("dropped", "shuffled", "torn", "kept")
_SECTORS = (512, 4096)


@dataclass(eq=False)
class Content:
    """A file without its name."""

    safe: bytearray = field(default_factory=bytearray)
    now: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and bytes of a write; without bytes, a truncation."""

    def write(self, offset: int, data: bytes) -> None:
        _write(self.now, offset, data)
        self.pending.append((offset, data))

    def truncate(self, size: int) -> None:
        _truncate(self.now, size)
        self.pending.append((size, None))

    def sync(self) -> None:
        if self.pending:
            self.safe = bytearray(self.now)
            self.pending.clear()

    def after(self, style: str, chance: random.Random) -> bytes:
        """What is found after the cut."""
        if style == "kept" or not self.pending:
            return bytes(self.now)
        if style == "dropped":
            return bytes(self.safe)
        found, share, sector = bytearray(self.safe), chance.random(), chance.choice(_SECTORS)
        for offset, data in self.pending:
            if style == "torn" and data is not None:
                for start, part in _sectors(offset, data, sector):
                    if chance.random() < share:
                        _write(found, start, part)
            elif chance.random() < share:
                _write(found, offset, data) if data is not None else _truncate(found, offset)
        if len(self.now) > len(found) and chance.random() < 0.5:
            _truncate(found, chance.randrange(len(found), len(self.now) + 1))
        return bytes(found)


@dataclass(eq=False)
class Folder:
    safe: dict[str, Folder | Content] = field(default_factory=dict)
    now: dict[str, Folder | Content] = field(default_factory=dict)
    pending: list[dict[str, Folder | Content | None]] = field(default_factory=list)

    def change(self, names: dict[str, Folder | Content | None]) -> None:
        """Names that come, change or (None) go, all at once."""
        _rename(self.now, names)
        self.pending.append(names)

    def sync(self) -> None:
        self.safe = dict(self.now)
        self.pending.clear()

    def after(self, style: str, chance: random.Random) -> dict[str, Folder | Content]:
        if style == "kept":
            return self.now
        found = dict(self.safe)
        for names in self.pending[: 0 if style == "dropped" else chance.randrange(len(self.pending) + 1)]:
            _rename(found, names)
        return found


class Disk:
    """Follows a log, event by event, from a folder that was safe when it began."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._tree = _load(root)
        self._handles: dict[Any, tuple[Content, str, bool]] = {}

    def follow(self, event: Event) -> None:
        kind, *details = event
        if action := self._ACTIONS.get(kind):
            action(self, *details)

    def image(self, target: Path, style: str, chance: random.Random) -> None:
        """Write what would be found after a cut at this moment; files choose a style of their own for `mixed`."""
        _store(target, self._tree, lambda: chance.choice(STYLES) if style == "mixed" else style, chance)

    def same_as_real(self) -> list[str]:
        """Where the model and the real files differ: nowhere, unless something was not recorded."""
        return _differences(Path(self._root), self._tree)

    def _open(self, handle: Any, path: str, created: bool, journal: bool) -> None:
        folder, name = self._find(path)
        if created or name not in folder.now:
            folder.change({name: Content()})
        content = folder.now[name]
        assert isinstance(content, Content)
        self._handles[handle] = content, path, created and journal

    def _write(self, handle: Any, offset: int, data: bytes) -> None:
        self._handles[handle][0].write(offset, data)

    def _truncate(self, handle: Any, size: int) -> None:
        self._handles[handle][0].truncate(size)

    def _sync(self, handle: Any) -> None:
        content, path, with_folder = self._handles[handle]
        content.sync()
        if with_folder:
            self._find(path)[0].sync()
            self._handles[handle] = content, path, False

    def _delete(self, path: str, syncdir: bool = False) -> None:
        folder, name = self._find(path)
        folder.change({name: None})
        if syncdir:
            folder.sync()

    def _create(self, path: str) -> None:
        folder, name = self._find(path)
        folder.change({name: Content()})

    def _content(self, path: str, data: bytes) -> None:
        folder, name = self._find(path)
        if name not in folder.now:
            folder.change({name: Content()})
        content = folder.now[name]
        assert isinstance(content, Content)
        if content.now != data:
            content.truncate(0)
            for start, part in _sectors(0, data, 65536):
                content.write(start, part)

    def _mkdir(self, path: str) -> None:
        folder, name = self._find(path)
        folder.change({name: Folder()})

    def _rename(self, source: str, target: str) -> None:
        (folder, old), (other, new) = self._find(source), self._find(target)
        assert folder is other, "a rename across folders is not in the model"
        folder.change({new: folder.now[old], old: None})

    def _link(self, source: str, target: str) -> None:
        (folder, old), (other, new) = self._find(source), self._find(target)
        other.change({new: folder.now[old]})

    def _fsync(self, path: str) -> None:
        if path == self._root:
            self._tree.sync()
            return
        folder, name = self._find(path)
        if (found := folder.now.get(name)) is not None:
            found.sync()

    def _find(self, path: str) -> tuple[Folder, str]:
        folder = self._tree
        *parts, name = os.path.relpath(path, self._root).split(os.sep)
        for part in parts:
            inner = folder.now[part]
            assert isinstance(inner, Folder)
            folder = inner
        return folder, name

    _ACTIONS: dict[str, Callable[..., None]] = {  # noqa: RUF012  # one table for all
        "open": _open,
        "write": _write,
        "truncate": _truncate,
        "sync": _sync,
        "delete": _delete,
        "unlink": _delete,
        "rmdir": _delete,
        "create": _create,
        "content": _content,
        "mkdir": _mkdir,
        "rename": _rename,
        "link": _link,
        "fsync": _fsync,
    }


def _write(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _truncate(content: bytearray, size: int) -> None:
    if size <= len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


def _sectors(offset: int, data: bytes, size: int) -> list[tuple[int, bytes]]:
    """The parts of a write that lie in one sector each."""
    first = size - offset % size
    starts = [0, *range(first, len(data), size)]
    return [(offset + start, data[start:end]) for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]


def _rename(names: dict[str, Folder | Content], changes: dict[str, Folder | Content | None]) -> None:
    for name, thing in changes.items():
        if thing is None:
            names.pop(name, None)
        else:
            names[name] = thing


def _load(path: Path) -> Folder:
    names: dict[str, Folder | Content] = {}
    for entry in sorted(path.iterdir()):
        if entry.is_dir():
            names[entry.name] = _load(entry)
        elif not entry.name.endswith("-shm"):
            data = entry.read_bytes()
            names[entry.name] = Content(bytearray(data), bytearray(data))
    return Folder(dict(names), names)


def _store(path: Path, folder: Folder, style: Callable[[], str], chance: random.Random) -> None:
    path.mkdir()
    for name, thing in folder.after(style(), chance).items():
        if isinstance(thing, Folder):
            _store(path / name, thing, style, chance)
        else:
            (path / name).write_bytes(thing.after(style(), chance))


def _differences(path: Path, folder: Folder) -> list[str]:
    said = []
    real = {entry.name: entry for entry in path.iterdir()}
    for name in sorted(name for name in {*real, *folder.now} if not name.endswith(("-shm", "lock"))):
        thing, entry = folder.now.get(name), real.get(name)
        if thing is None or entry is None:
            if name != "locks":
                said.append(f"{path / name} is only {'real' if thing is None else 'in the model'}")
        elif isinstance(thing, Folder):
            said += _differences(entry, thing)
        elif entry.read_bytes() != thing.now:
            said.append(f"{entry} has another content")
    return said
