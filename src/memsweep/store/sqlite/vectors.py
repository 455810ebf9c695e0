"""The vectors of a workspace as one matrix.

The blobs in the database are the truth. A file beside it holds most of them as one matrix, which a process
reads in one go instead of row by row; the rest (what came since the file was written) is a small tail. A file
is written under a new name and never changed, so a crash leaves either a whole file or none. It carries a
checksum: one that was damaged is not used, and can always be made again. It is read and not mapped, for a
mapped file that somebody cuts kills every process that looks at it.

How near all chunks are to a query is compared with numpy where the process has it, and else without.
Both give the same.
"""

from __future__ import annotations

import contextlib
import math
import os
import struct
import threading
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import repeat
from operator import mul, truediv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsweep.forking import new_lock
from memsweep.numeric import compared, numpy_for, singles
from memsweep.regular import WRITING
from memsweep.store.file.connect import one, row
from memsweep.store.sqlite import sql

if TYPE_CHECKING:
    import apsw
    import numpy as np
    import numpy.typing as npt


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
    """Return whether a file holds every one of these vectors as it is; it may hold more, of chunks that are gone."""
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


Numbers = Any
"""32-bit numbers: an array of numpy, of the standard library, or a view of one."""
_SURELY_MORE = 1e-3
"""By how much a quick look may be wrong; on most machines it is ten thousand times as good."""
_ROWS_A_THREAD = 100_000
_BLOCK = 64  # values that are compared by the largest of them
_MOST_THREADS = 4


class Part:
    """Keys of chunks and their rows, one behind the other. How long each is, is measured once, if it is asked for."""

    __slots__ = ("_lengths", "keys", "rows", "width")

    def __init__(self, keys: memoryview, rows: memoryview, lengths: Numbers = None) -> None:
        self.keys, self.rows, self.width = keys, rows, len(rows) // len(keys)
        self._lengths = lengths

    def row(self, at: int) -> memoryview:
        return self.rows[at * self.width : (at + 1) * self.width]

    def lengths(self) -> Numbers:
        if self._lengths is None:
            self._lengths = lengths_of(self.rows, self.width)
        return self._lengths


def compare(query: bytes, parts: Sequence[Part]) -> Cosines:
    """A query with all rows of some parts, whose keys ascend from one to the next."""
    np = numpy_for(sum(len(part.keys) for part in parts))
    if np is None:
        return _Plain(query, parts)
    if not parts:
        return _WithNumpy(np.empty(0, np.int64), np.empty(0, np.float32))
    (own,) = lengths_of(memoryview(query), len(query))
    dots = (np.asarray(_dots(query, part.rows), np.float32) for part in parts)
    cosines = [dot / (np.asarray(part.lengths()) * np.float32(own)) for dot, part in zip(dots, parts, strict=True)]
    if len(parts) == 1:
        return _WithNumpy(np.asarray(parts[0].keys), *cosines)
    return _WithNumpy(np.concatenate([part.keys for part in parts]), np.concatenate(cosines))


class _WithNumpy:
    """Keys of chunks, ascending, and the cosine of each with a query."""

    def __init__(self, keys: npt.NDArray[np.int64], values: npt.NDArray[np.float32]) -> None:
        self._keys, self._values = keys, values

    def __len__(self) -> int:
        return len(self._keys)

    def nearest(self, count: int) -> list[int]:
        """At most so many keys, of the closest first and equals in their order; what is not near at all is none."""
        import numpy as np

        keys, values = self._keys, self._values
        if count < len(keys):
            near = np.flatnonzero(values >= _least_of_the_largest(values, count))
            keys, values = keys[near], values[near]
        order = np.lexsort((keys, -values))[:count]
        found: list[int] = keys[order][values[order] > 0].tolist()
        return found

    def of(self, keys: Sequence[int]) -> list[float]:
        """The cosines of these; 0 for one that has no vector."""
        import numpy as np

        if not len(self._keys):
            return [0.0] * len(keys)
        wanted = np.array(keys, np.int64)
        spots = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        found: list[float] = np.where(self._keys[spots] == wanted, self._values[spots], 0.0).tolist()
        return found

    def among(self, keys: Iterable[int]) -> Cosines:
        """Return the cosines of these keys alone."""
        import numpy as np

        here = np.isin(self._keys, np.fromiter(keys, np.int64))
        return _WithNumpy(self._keys[here], self._values[here])


def _least_of_the_largest(values: npt.NDArray[np.float32], count: int) -> np.float32:
    """The smallest of so many. In few of very many values, only blocks with one of the largest peaks matter."""
    import numpy as np

    if 4 * count * _BLOCK < len(values):
        end = len(values) // _BLOCK * _BLOCK
        blocks = values[:end].reshape(-1, _BLOCK)
        best = np.argpartition(blocks.max(axis=1), -count)[-count:]
        values = np.concatenate((blocks[best].ravel(), values[end:]))
    least: np.float32 = np.partition(values, -count)[-count]
    return least


class _Plain:
    """The same without numpy: a quick look says who is near, and only what they are is worked out as numpy would."""

    def __init__(self, query: bytes, parts: Sequence[Part]) -> None:
        self._query, self._rows = query, [part.rows for part in parts]
        self._keys = array("q", b"".join(part.keys.cast("B") for part in parts))

    def __len__(self) -> int:
        return len(self._keys)

    def nearest(self, count: int) -> list[int]:
        if not any(self._query):  # it has no direction
            return []
        width = len(self._query)
        rough = [far for rows in self._rows for far in compared(self._query, rows, width, "angular").tolist()]
        farthest = min(1.0, max(nsmallest(count, rough), default=0.0)) + _SURELY_MORE
        spots = [spot for spot, far in enumerate(rough) if far < farthest]
        near = sorted(
            (-value, self._keys[spot]) for value, spot in zip(self._at(spots), spots, strict=True) if value > 0
        )
        return [key for _, key in near[:count]]

    def of(self, keys: Sequence[int]) -> list[float]:
        known = len(self._keys)
        spots = {
            key: spot for key in keys if (spot := bisect_left(self._keys, key)) < known and self._keys[spot] == key
        }
        found = dict(zip(spots, self._at(list(spots.values())), strict=True))
        return [found.get(key, 0.0) for key in keys]

    def among(self, keys: Iterable[int]) -> Cosines:
        wanted = set(keys)
        spots = [spot for spot, key in enumerate(self._keys) if key in wanted]
        here = array("q", [self._keys[spot] for spot in spots])
        return _Plain(self._query, [Part(memoryview(here), memoryview(self._gathered(spots)))] if spots else [])

    def _at(self, spots: Sequence[int]) -> array[float]:
        if not spots:
            return array("f")
        rows, width = self._gathered(spots), len(self._query)
        (own,), lengths = lengths_of(memoryview(self._query), width), lengths_of(memoryview(rows), width)
        dots = compared(self._query, rows, width, "dot")
        return singles(map(truediv, singles(dots), singles(map(mul, lengths, repeat(own)))))

    def _gathered(self, spots: Iterable[int]) -> bytes:
        width, first, *more = len(self._query), *self._rows
        ends = len(first) // width
        rest = more[0] if more else first
        return b"".join(
            first[spot * width : (spot + 1) * width]
            if spot < ends
            else rest[(spot - ends) * width : (spot - ends + 1) * width]
            for spot in spots
        )


Cosines = _WithNumpy | _Plain


def lengths_of(rows: memoryview, width: int) -> Numbers:
    """Return the length of each row; infinite for one without a direction, so that its cosines are 0."""
    squares = compared(bytes(width), rows, width, "sqeuclidean")
    np = numpy_for(len(squares))
    if np is None:
        return singles(root or math.inf for root in map(math.sqrt, singles(squares)))
    lengths = np.sqrt(np.asarray(squares, np.float32))
    lengths[lengths == 0] = np.inf
    return lengths


def _dots(query: bytes, rows: memoryview) -> memoryview[float] | array[float]:
    """Of very many in several threads at once: reading them takes longer than computing, and lets others run."""
    width = len(query)
    count = len(rows) // width
    if count < 2 * _ROWS_A_THREAD:
        return compared(query, rows, width, "dot")
    from concurrent.futures import ThreadPoolExecutor

    threads = min(_MOST_THREADS, os.cpu_count() or 1, count // _ROWS_A_THREAD)
    size = -(-count // threads) * width
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    found = array("d")
    with ThreadPoolExecutor(threads) as pool:
        for dots in pool.map(lambda part: compared(query, part, width, "dot"), parts):
            found.frombytes(dots.cast("B"))
    return found
