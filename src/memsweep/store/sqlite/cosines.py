"""How near all chunks are to a query: with numpy where the process has it, and else without. Both give the same."""

from __future__ import annotations

import math
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import repeat
from operator import mul, truediv
from typing import TYPE_CHECKING, Any, Protocol

from memsweep.numeric import compared, numpy_for, singles

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Numbers = Any
"""32-bit numbers: an array of numpy, of the standard library, or a view of one."""
_ROWS_A_THREAD = 100_000
_MOST_THREADS = 4


class Cosines(Protocol):
    """Keys of chunks, ascending, and the cosine of each with a query."""

    def __len__(self) -> int: ...

    def nearest(self, count: int) -> list[int]:
        """At most so many keys, of the closest first and equals in their order; what is not near at all is none."""

    def of(self, keys: Sequence[int]) -> list[float]:
        """The cosines of these; 0 for one that has no vector."""

    def among(self, keys: Iterable[int]) -> Cosines:
        """Those of these keys alone."""


def joined(parts: Sequence[tuple[memoryview, Numbers]]) -> Cosines:
    """Keys and their cosines, part by part."""
    np = numpy_for(0)
    if np is None:
        keys, values = array("q"), array("f")
        for part, found in parts:
            keys.frombytes(part.cast("B"))
            values.extend(found)
        return _Plain(keys, values)
    if not parts:
        return _WithNumpy(np.empty(0, np.int64), np.empty(0, np.float32))
    columns = [[np.asarray(each) for each in column] for column in zip(*parts, strict=True)]
    return _WithNumpy(*(np.concatenate(column) if len(parts) > 1 else column[0] for column in columns))


class _WithNumpy:
    def __init__(self, keys: npt.NDArray[np.int64], values: npt.NDArray[np.float32]) -> None:
        self._keys, self._values = keys, values

    def __len__(self) -> int:
        return len(self._keys)

    def nearest(self, count: int) -> list[int]:
        import numpy as np

        keys, values = self._keys, self._values
        if count < len(keys):
            near = np.flatnonzero(values >= np.partition(values, -count)[-count])
            keys, values = keys[near], values[near]
        order = np.lexsort((keys, -values))[:count]
        found: list[int] = keys[order][values[order] > 0].tolist()
        return found

    def of(self, keys: Sequence[int]) -> list[float]:
        import numpy as np

        if not len(self._keys):
            return [0.0] * len(keys)
        spots = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found: list[float] = np.where(self._keys[spots] == keys, self._values[spots], 0.0).tolist()
        return found

    def among(self, keys: Iterable[int]) -> Cosines:
        import numpy as np

        here = np.isin(self._keys, np.fromiter(keys, np.int64))
        return _WithNumpy(self._keys[here], self._values[here])


class _Plain:
    def __init__(self, keys: array[int], values: array[float]) -> None:
        self._keys, self._values = keys, values

    def __len__(self) -> int:
        return len(self._keys)

    def nearest(self, count: int) -> list[int]:
        values = self._values.tolist()
        least = min(nlargest(count, values), default=0.0)
        near = [(-value, key) for value, key in zip(values, self._keys, strict=True) if value >= least and value > 0]
        return [key for _, key in sorted(near)[:count]]

    def of(self, keys: Sequence[int]) -> list[float]:
        spots = [bisect_left(self._keys, key) for key in keys]
        known = len(self._keys)
        return [
            self._values[spot] if spot < known and self._keys[spot] == key else 0.0
            for spot, key in zip(spots, keys, strict=True)
        ]

    def among(self, keys: Iterable[int]) -> Cosines:
        wanted = set(keys)
        here = [spot for spot, key in enumerate(self._keys) if key in wanted]
        return _Plain(array("q", [self._keys[spot] for spot in here]), singles([self._values[spot] for spot in here]))


def cosines_of(query: bytes, rows: memoryview, lengths: Numbers) -> Numbers:
    """Of a query with rows of as many bytes, which are so long."""
    (own,) = lengths_of(memoryview(query), len(query))
    np, dots = numpy_for(3 * len(lengths)), _dots(query, rows)
    if np is not None:
        return np.asarray(dots, np.float32) / (np.asarray(lengths) * np.float32(own))
    return singles(map(truediv, singles(dots), singles(map(mul, lengths, repeat(own)))))


def lengths_of(rows: memoryview, width: int) -> Numbers:
    """How long each row is; one without a direction is as if endless, so that its cosine with any other is 0."""
    squares = compared(bytes(width), rows, width, "sqeuclidean")
    np = numpy_for(2 * len(squares))
    if np is None:
        return singles(root or math.inf for root in map(math.sqrt, singles(squares)))
    lengths = np.sqrt(np.asarray(squares, np.float32))
    lengths[lengths == 0] = np.inf
    return lengths


def _dots(query: bytes, rows: memoryview) -> Sequence[float]:
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
