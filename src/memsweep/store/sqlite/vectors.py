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
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsweep.regular import WRITING
from memsweep.store.file.connect import one, row
from memsweep.store.sqlite import sql

if TYPE_CHECKING:
    import apsw
    import numpy as np
    import numpy.typing as npt

    Ids = npt.NDArray[np.int64]
    Rows = npt.NDArray[np.int8]
    Lengths = npt.NDArray[np.float32]

_HEADER = struct.Struct("<16sQQQ")  # what it is, the width of a row, how many rows, the checksum of all that follows
_MAGIC = b"memsweep vector2"
_TAIL_MIN = 8192
_ROWS_A_THREAD = 100_000
_MOST_THREADS = 4
_TAIL_SHARE = 8  # the tail may grow to an eighth of the file before a new one is written
_TAIL_FIRST = 64  # rows that a tail has room for at first


class _Part:
    """Some of the vectors. Their lengths are measured once, which takes as long as to compare them."""

    __slots__ = ("ids", "lengths", "rows")

    def __init__(self, ids: Ids, rows: Rows, lengths: Lengths | None = None) -> None:
        self.ids, self.rows, self.lengths = ids, rows, lengths

    def cosines(self, query: Rows, length: Lengths) -> Lengths:
        if self.lengths is None:
            self.lengths = _lengths(self.rows)
        found: Lengths = _dots(query, self.rows) / (self.lengths * length)
        return found


class _Tail:
    """Vectors that grow in number. Who has a part of them keeps it: what is written stands behind its end."""

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self.ids, self.rows = np.empty(_TAIL_FIRST, np.int64), np.empty((_TAIL_FIRST, dimension), np.int8)
        self.lengths, self.count = np.empty(_TAIL_FIRST, np.float32), 0

    def append(self, rows: list[tuple[int, bytes]]) -> None:
        import numpy as np

        start, end = self.count, self.count + len(rows)
        if end > len(self.ids):
            self._make_room(end)
        self.ids[start:end] = [key for key, _ in rows]
        self.rows[start:end] = np.frombuffer(b"".join(data for _, data in rows), np.int8).reshape(len(rows), -1)
        self.lengths[start:end] = _lengths(self.rows[start:end])
        self.count = end

    def part(self) -> _Part:
        return _Part(self.ids[: self.count], self.rows[: self.count], self.lengths[: self.count])

    def _make_room(self, wanted: int) -> None:
        import numpy as np

        old, room = self.part(), max(wanted, 2 * len(self.ids))
        self.ids, self.rows = np.empty(room, np.int64), np.empty((room, self.rows.shape[1]), np.int8)
        self.lengths = np.empty(room, np.float32)
        self.ids[: self.count], self.rows[: self.count], self.lengths[: self.count] = old.ids, old.rows, old.lengths


class VectorIndex:
    """Exact nearest neighbours by angle over every vector of one workspace."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._lock = threading.Lock()
        self._generation: object = None
        self._last = 0
        self._file: _Part | None = None
        self._tail: _Tail | None = None

    def similarities(self, db: apsw.Connection, query: bytes) -> tuple[Ids, npt.NDArray[np.float32]]:
        """Keys of all chunks that have a vector, ascending, and the cosine of each with the query."""
        import numpy as np

        wanted = np.frombuffer(query, np.int8).reshape(1, -1)
        parts = self._refresh(db, wanted.shape[1])
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        length = _lengths(wanted)
        cosines = [part.cosines(wanted, length) for part in parts]
        if len(parts) == 1:
            return parts[0].ids, cosines[0]
        return np.concatenate([part.ids for part in parts]), np.concatenate(cosines)

    def forget(self) -> list[Path]:
        """Drop what is held and delete the files, which the next search makes again; those that cannot be deleted."""
        with self._lock:
            self._reset(None)
        kept = []
        for path in self._files():
            try:
                path.unlink(missing_ok=True)
            except OSError:
                kept.append(path)
        return kept

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

    def _files(self) -> Iterator[Path]:
        return self._stem.parent.glob(f"{self._stem.name}.*.vec")

    def _reset(self, generation: object) -> None:
        self._generation, self._last, self._file, self._tail = generation, 0, None, None

    def _refresh(self, db: apsw.Connection, dimension: int) -> list[_Part]:
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
        return 0 if self._file is None else len(self._file.ids)

    def _read_newest_file(self, db: apsw.Connection, dimension: int, newest: int) -> None:
        for last in self._lasts(self._generation, newest):
            with contextlib.suppress(OSError, ValueError):
                part = _read(self._path(last, self._generation), dimension)
                if one(db, sql.VECTOR, (int(part.ids[-1]),)) not in (None, part.rows[-1].tobytes()):
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

    def _write_file(self, tail: _Part, dimension: int) -> None:
        parts = [tail] if self._file is None else [self._file, tail]
        path = self._path(self._last, self._generation)
        try:
            _write(path, parts)
            self._file, self._tail = _read(path, dimension), None
        except (OSError, ValueError):
            return  # no space, or a folder that cannot be written: the private tail serves as well
        for other in (*self._files(), *path.parent.glob(f"{self._stem.name}.*.draft")):
            if other != path:
                with contextlib.suppress(OSError):
                    other.unlink()


def _dots(query: Rows, rows: Rows) -> Lengths:
    """Of very many in several threads at once: reading them takes longer than computing, and lets others run."""
    import numkong
    import numpy as np

    def of(part: Rows) -> Lengths:
        dots: Lengths = np.asarray(numkong.cdist(query, part, metric="dot"))[0].astype(np.float32)
        return dots

    if len(rows) < 2 * _ROWS_A_THREAD:
        return of(rows)
    threads = min(_MOST_THREADS, os.cpu_count() or 1, len(rows) // _ROWS_A_THREAD)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(of, np.array_split(rows, threads))))


def _lengths(rows: Rows) -> Lengths:
    """How long each vector is; one without a direction is as if endless, so that its cosine with any other is 0."""
    import numkong
    import numpy as np

    nowhere = np.zeros((1, rows.shape[1]), np.int8)
    lengths: Lengths = np.sqrt(np.asarray(numkong.cdist(nowhere, rows, metric="sqeuclidean"))[0].astype(np.float32))
    lengths[lengths == 0] = np.inf
    return lengths


def _fits(data: object, dimension: int) -> bool:
    """One that does not is the doctor's; without it the others can still be found."""
    return isinstance(data, bytes) and len(data) == dimension


def _read(path: Path, dimension: int) -> _Part:
    import numpy as np

    whole = path.read_bytes()
    magic, width, count, checksum = _HEADER.unpack_from(whole) if len(whole) >= _HEADER.size else (b"", 0, 0, 0)
    first_row = _HEADER.size + 8 * count
    if magic != _MAGIC or not count or width != dimension or len(whole) != first_row + count * width:
        raise ValueError(f"{path} is not a vector file of this workspace")
    if zlib.crc32(memoryview(whole)[_HEADER.size :]) != checksum:
        raise ValueError(f"{path} is damaged")
    ids = np.frombuffer(whole, np.int64, count, _HEADER.size)
    return _Part(ids, np.frombuffer(whole, np.int8, count * width, first_row).reshape(count, width))


def _agrees(path: Path, dimension: int, blobs: Iterable[Any]) -> bool:
    """Whether a file holds every one of these vectors as it is; it may hold more, of chunks that are gone."""
    try:
        part = _read(path, dimension)
    except FileNotFoundError:
        return True  # another process has replaced it
    except (OSError, ValueError):
        return False
    spots = {key: spot for spot, key in enumerate(part.ids.tolist())}
    return all(key in spots and part.rows[spots[key]].tobytes() == data for key, data in blobs)


def _write(path: Path, parts: list[_Part]) -> None:
    """Whole or not at all: synced before it gets its name, so that a power cut cannot leave a hollow file."""
    draft = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.draft")
    count, width = sum(len(part.ids) for part in parts), parts[0].rows.shape[1]
    pieces: list[bytes] = [*(part.ids.tobytes() for part in parts), *(part.rows.tobytes() for part in parts)]
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
