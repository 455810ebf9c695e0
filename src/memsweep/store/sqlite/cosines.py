"""How near all chunks are to a query: with numpy where the process has it, and else without. Both give the same."""

from __future__ import annotations

import math
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import repeat
from operator import mul, truediv
from typing import TYPE_CHECKING, Any, Protocol

from memsweep.numeric import compared, numpy_for, singles

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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


class Cosines(Protocol):
    """Keys of chunks, ascending, and the cosine of each with a query."""

    def __len__(self) -> int: ...

    def nearest(self, count: int) -> list[int]:
        """At most so many keys, of the closest first and equals in their order; what is not near at all is none."""

    def of(self, keys: Sequence[int]) -> list[float]:
        """The cosines of these; 0 for one that has no vector."""

    def among(self, keys: Iterable[int]) -> Cosines:
        """Those of these keys alone."""


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
    def __init__(self, keys: npt.NDArray[np.int64], values: npt.NDArray[np.float32]) -> None:
        self._keys, self._values = keys, values

    def __len__(self) -> int:
        return len(self._keys)

    def nearest(self, count: int) -> list[int]:
        import numpy as np

        keys, values = self._keys, self._values
        if count < len(keys):
            near = np.flatnonzero(values >= _least_of_the_largest(values, count))
            keys, values = keys[near], values[near]
        order = np.lexsort((keys, -values))[:count]
        found: list[int] = keys[order][values[order] > 0].tolist()
        return found

    def of(self, keys: Sequence[int]) -> list[float]:
        import numpy as np

        if not len(self._keys):
            return [0.0] * len(keys)
        wanted = np.array(keys, np.int64)
        spots = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        found: list[float] = np.where(self._keys[spots] == wanted, self._values[spots], 0.0).tolist()
        return found

    def among(self, keys: Iterable[int]) -> Cosines:
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
    """A quick look says who is among the nearest, and only what they are is worked out as numpy would."""

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


def lengths_of(rows: memoryview, width: int) -> Numbers:
    """How long each row is; one without a direction is as if endless, so that its cosine with any other is 0."""
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
