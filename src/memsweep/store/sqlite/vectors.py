"""The vectors of a workspace as one matrix.

The blobs in the database are the truth. A file beside it holds most of them as one matrix, which a process
reads in one go instead of row by row; the rest (what came since the file was written) is a small tail. A file
is written under a new name and never changed, so a crash leaves either a whole file or none. It carries a
checksum: one that was damaged is not used, and can always be made again. It is read and not mapped, for a
mapped file that somebody cuts kills every process that looks at it.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import zlib
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsweep.forking import new_lock
from memsweep.regular import WRITING
from memsweep.store.file.connect import one, row
from memsweep.store.sqlite import sql
from memsweep.store.sqlite.cosines import Cosines, Part, compare, lengths_of

if TYPE_CHECKING:
    import apsw

_HEADER = struct.Struct("<16sQQQ")  # what it is, the width of a row, how many rows, the checksum of all that follows
_MAGIC = b"memsweep vector2"
_TAIL_MIN = 8192
_TAIL_SHARE = 8  # the tail may grow to an eighth of the file before a new one is written
_TAIL_FIRST = 64  # rows that a tail has room for at first


class _Tail:
    """Vectors that grow in number. Who has a part of them keeps it: what is written stands behind its end."""

    def __init__(self, dimension: int) -> None:
        self._width, self.count = dimension, 0
        self._room(_TAIL_FIRST)

    def append(self, rows: list[tuple[int, bytes]]) -> None:
        start, end = self.count, self.count + len(rows)
        if end > len(self._ids):
            before = self._ids[:start], self._rows[: start * self._width], self._lengths[:start]
            self._room(max(end, 2 * len(self._ids)))
            self._ids[:start], self._rows[: start * self._width], self._lengths[:start] = before
        new = memoryview(b"".join(data for _, data in rows))
        self._ids[start:end] = memoryview(array("q", [key for key, _ in rows]))
        self._rows[start * self._width : end * self._width] = new
        self._lengths[start:end] = memoryview(lengths_of(new, self._width))
        self.count = end

    def part(self) -> Part:
        return Part(self._ids[: self.count], self._rows[: self.count * self._width], self._lengths[: self.count])

    def _room(self, count: int) -> None:
        self._ids = memoryview(bytearray(8 * count)).cast("q")
        self._lengths = memoryview(bytearray(4 * count)).cast("f")
        self._rows = memoryview(bytearray(self._width * count))


class VectorIndex:
    """Exact nearest neighbours by angle over every vector of one workspace."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._lock = new_lock()
        self._generation: object = None
        self._last = 0
        self._file: Part | None = None
        self._tail: _Tail | None = None

    def similarities(self, db: apsw.Connection, query: bytes) -> Cosines:
        """The cosines of all chunks that have a vector with the query."""
        return compare(query, self._refresh(db, len(query)))

    def forget(self) -> list[Path]:
        """Drop what is held and delete the files, which the next search makes again; those that cannot be deleted."""
        self.let_go()
        kept = []
        for path in self._files():
            try:
                path.unlink(missing_ok=True)
            except OSError:
                kept.append(path)
        return kept

    def held_bytes(self) -> int:
        file, tail = self._file, self._tail
        return (0 if file is None else len(file.rows)) + (0 if tail is None else len(tail.part().rows))

    def let_go(self) -> None:
        """Drop what is held; the next search reads it again."""
        with self._lock:
            self._reset(None)

    def size_bytes(self) -> int:
        sizes = 0
        for path in self._files():
            with contextlib.suppress(OSError):  # another process has replaced it
                sizes += path.stat().st_size
        return sizes

    def differing_files(self, db: apsw.Connection, dimension: int) -> list[str]:
        """Names of the files that a search would take and that do not hold what the blobs say."""
        generation, newest = row(db, sql.VECTORS_STATE)
        paths = [(last, self._path(last, generation)) for last in self._lasts(generation, newest or 0)]
        return [path.name for last, path in paths if not _agrees(path, dimension, db.execute(sql.VECTORS_TO, (last,)))]

    def _files(self, ending: str = ".vec") -> list[Path]:
        # No glob: it compiles a pattern for each workspace, which takes longer than to read a small folder.
        folder, beginning = self._stem.parent, f"{self._stem.name}."
        try:
            names = os.listdir(folder)
        except OSError:
            return []
        return [folder / name for name in names if name.startswith(beginning) and name.endswith(ending, len(beginning))]

    def _reset(self, generation: object) -> None:
        self._generation, self._last, self._file, self._tail = generation, 0, None, None

    def _refresh(self, db: apsw.Connection, dimension: int) -> list[Part]:
        generation, newest = row(db, sql.VECTORS_STATE)
        with self._lock:
            if generation != self._generation:
                self._reset(generation)
            if self._file is None:
                self._read_newest_file(db, dimension, newest or 0)
            if newest and newest > self._last:
                rows: list[Any] = db.execute(sql.VECTORS_AFTER, (self._last,)).fetchall()
                self._last = rows[-1][0]
                self._append([(key, data) for key, data in rows if _fits(data, dimension)], dimension)
                if self._tail is not None and self._tail.count > max(_TAIL_MIN, self._in_file() // _TAIL_SHARE):
                    self._write_file(self._tail.part(), dimension)
            return [*([] if self._file is None else [self._file]), *([] if self._tail is None else [self._tail.part()])]

    def _append(self, rows: list[tuple[int, bytes]], dimension: int) -> None:
        if rows:
            self._tail = self._tail or _Tail(dimension)
            self._tail.append(rows)

    def _in_file(self) -> int:
        return 0 if self._file is None else len(self._file.keys)

    def _read_newest_file(self, db: apsw.Connection, dimension: int, newest: int) -> None:
        for last in self._lasts(self._generation, newest):
            with contextlib.suppress(OSError, ValueError):
                part = _read(self._path(last, self._generation), dimension)
                if one(db, sql.VECTOR, (part.keys[-1],)) not in (None, part.row(len(part.keys) - 1)):
                    continue  # an older database was put back, and its keys were given out again
                self._file = part
                self._last, self._tail = last, None
                return

    def _lasts(self, generation: object, newest: int) -> list[int]:
        """The last key in each usable file of a generation, newest file first."""
        prefix = f"{self._stem.name}.{generation}."
        numbers = (path.name.removeprefix(prefix).removesuffix(".vec") for path in self._files())
        return sorted((int(n) for n in numbers if n.isdigit() and int(n) <= newest), reverse=True)

    def _path(self, last: int, generation: object) -> Path:
        return self._stem.with_name(f"{self._stem.name}.{generation}.{last}.vec")

    def _write_file(self, tail: Part, dimension: int) -> None:
        parts = [tail] if self._file is None else [self._file, tail]
        path = self._path(self._last, self._generation)
        try:
            _write(path, parts)
            self._file, self._tail = _read(path, dimension), None
        except (OSError, ValueError):
            return  # no space, or a folder that cannot be written: the private tail serves as well
        for other in (*self._files(), *self._files(".draft")):
            if other != path:
                with contextlib.suppress(OSError):
                    other.unlink()


def _fits(data: object, dimension: int) -> bool:
    """One that does not is the doctor's; without it the others can still be found."""
    return isinstance(data, bytes) and len(data) == dimension


def _read(path: Path, dimension: int) -> Part:
    whole = memoryview(path.read_bytes())
    magic, width, count, checksum = _HEADER.unpack_from(whole) if len(whole) >= _HEADER.size else (b"", 0, 0, 0)
    first_row = _HEADER.size + 8 * count
    if magic != _MAGIC or not count or width != dimension or len(whole) != first_row + count * width:
        raise ValueError(f"{path} is not a vector file of this workspace")
    if zlib.crc32(whole[_HEADER.size :]) != checksum:
        raise ValueError(f"{path} is damaged")
    return Part(whole[_HEADER.size : first_row].cast("q"), whole[first_row:])


def _agrees(path: Path, dimension: int, blobs: Iterable[Any]) -> bool:
    """Whether a file holds every one of these vectors as it is; it may hold more, of chunks that are gone."""
    try:
        part = _read(path, dimension)
    except FileNotFoundError:
        return True  # another process has replaced it
    except (OSError, ValueError):
        return False
    spots = {key: spot for spot, key in enumerate(part.keys.tolist())}
    return all(key in spots and part.row(spots[key]) == data for key, data in blobs)


def _write(path: Path, parts: list[Part]) -> None:
    """Whole or not at all: synced before it gets its name, so that a power cut cannot leave a hollow file."""
    draft = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.draft")
    count, width = sum(len(part.keys) for part in parts), parts[0].width
    pieces = [*(part.keys.cast("B") for part in parts), *(part.rows for part in parts)]
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    try:
        with os.fdopen(os.open(draft, WRITING | os.O_TRUNC, 0o600), "wb") as file:
            file.write(_HEADER.pack(_MAGIC, width, count, checksum))
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
