"""How near all chunks are to a query: with numpy where the process has it, and else without. Both give the same."""

from __future__ import annotations

import math
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import chain
from operator import truediv
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memsweep.numeric import compared, numpy_for, singles

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Numbers = Any
"""32-bit numbers: an array of numpy, of the standard library, or a view of one."""
_EXACT_WIDTH = 1 << 10
"""The square of a row that is no wider is exact in 32 bits."""
_SURELY_LESS = 1 - 1e-6
"""By so much at most do two numbers differ that are equal in 32 bits."""
_ROWS_A_THREAD = 100_000
_MOST_THREADS = 4


class Part(NamedTuple):
    """Keys of chunks, their rows one behind the other, and how long each is."""

    keys: memoryview
    rows: memoryview
    lengths: Numbers


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
    (own,) = lengths_of(memoryview(query), len(query))
    np = numpy_for(2 * sum(len(part.keys) for part in parts))
    dots = [_dots(query, part.rows) for part in parts]
    if np is None:
        keys, lengths = array("q"), array("f")
        for part in parts:
            keys.frombytes(part.keys.cast("B"))
            lengths.extend(part.lengths)
        return _Plain(keys, list(chain(*dots)), lengths, own)
    if not parts:
        return _WithNumpy(np.empty(0, np.int64), np.empty(0, np.float32))
    pairs = zip(dots, parts, strict=True)
    cosines = [np.asarray(dot, np.float32) / (np.asarray(part.lengths) * np.float32(own)) for dot, part in pairs]
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
    """A quotient of 64 bits says who is among the nearest, and only what they are is worked out as numpy would."""

    def __init__(self, keys: array[int], dots: list[float], lengths: array[float], own: float) -> None:
        self._keys, self._dots, self._lengths, self._own = keys, dots, lengths, own

    def __len__(self) -> int:
        return len(self._keys)

    def nearest(self, count: int) -> list[int]:
        rough = list(map(truediv, self._dots, self._lengths))
        least = max(0.0, min(nlargest(count, rough), default=0.0)) * _SURELY_LESS
        spots = [spot for spot, value in enumerate(rough) if value >= least and value > 0]
        return [key for _, key in sorted((-self._at(spot), self._keys[spot]) for spot in spots)[:count]]

    def of(self, keys: Sequence[int]) -> list[float]:
        known = len(self._keys)
        spots = [bisect_left(self._keys, key) for key in keys]
        return [
            self._at(spot) if spot < known and self._keys[spot] == key else 0.0
            for spot, key in zip(spots, keys, strict=True)
        ]

    def among(self, keys: Iterable[int]) -> Cosines:
        wanted = set(keys)
        here = [spot for spot, key in enumerate(self._keys) if key in wanted]
        lengths = singles(self._lengths[spot] for spot in here)
        return _Plain(
            array("q", [self._keys[spot] for spot in here]), [self._dots[spot] for spot in here], lengths, self._own
        )

    def _at(self, spot: int) -> float:
        dot, length = singles([self._dots[spot], self._lengths[spot] * self._own])
        return singles([dot / length])[0]


def lengths_of(rows: memoryview, width: int) -> Numbers:
    """How long each row is; one without a direction is as if endless, so that its cosine with any other is 0."""
    squares = compared(bytes(width), rows, width, "sqeuclidean")
    np = numpy_for(len(squares))
    if np is None:
        return _without_zeros(singles(map(math.sqrt, squares if width <= _EXACT_WIDTH else singles(squares))))
    lengths = np.sqrt(np.asarray(squares, np.float32))
    lengths[lengths == 0] = np.inf
    return lengths


def _without_zeros(lengths: array[float]) -> array[float]:
    if bytes(lengths.itemsize) in lengths.tobytes():  # at a glance, which may be wrong
        return singles(length or math.inf for length in lengths)
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
