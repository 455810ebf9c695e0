"""Vectors with numpy, or without it where one answer takes less time than importing it.

A hook, or a command that searches once, has ended before numpy would be ready. What is done without it gives the same
numbers: a sum, product, quotient or root of 32-bit numbers that is worked out in 64 bits and then cut is exact.
"""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import add, mul, truediv
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Rows = npt.NDArray[np.float32] | list[array[float]]
    """Vectors of 32-bit numbers, in one matrix of numpy or each by itself."""

Buffer = bytes | bytearray | memoryview
Kind = Literal["int8", "float16"]
_ENOUGH = 1_000_000
"""Numbers; what is done without numpy until then takes as long as its import."""


class _Handled:
    count = 0


def numpy_for(numbers: int) -> Any:
    """numpy, if it is there already or by now worth its import; None where so many numbers are quicker without."""
    _Handled.count += numbers
    if _Handled.count < _ENOUGH and not _is_loaded():
        return None
    import numpy

    return numpy


def _is_loaded() -> bool:
    return "numpy" in sys.modules


def kernels() -> Any:
    """numkong. When it is imported it looks for numpy, which takes fifty times as long, and does as well without."""
    if "numkong" not in sys.modules and not _is_loaded():
        with without_numpy:
            import numkong
    import numkong

    return numkong


class _WithoutNumpy:
    """Lets no import of numpy begin in the threads that are inside; others go on with theirs.

    It stays where imports are looked for: to take it away would let another thread, which is going through the same
    list at that moment, miss the one that follows, and not find a package that is there.
    """

    def __init__(self) -> None:
        self._threads: set[int] = set()

    def __enter__(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        self._threads.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        self._threads.discard(threading.get_ident())

    def find_spec(self, name: str, *_: object) -> None:
        if name == "numpy" and threading.get_ident() in self._threads:
            raise ModuleNotFoundError("numpy is not needed yet", name=name)


without_numpy = _WithoutNumpy()


def compared(
    left: Buffer, right: Buffer, width: int, metric: Literal["dot", "sqeuclidean", "angular"], kind: Kind = "int8"
) -> memoryview[float]:
    """Each row of one matrix with each of another, row by row."""
    both = [_matrix(memoryview(raw), width, kind) for raw in (left, right)]
    return memoryview(kernels().cdist(*both, metric, dtype=kind)).cast("B").cast("d")


def _matrix(raw: memoryview, width: int, kind: Kind) -> memoryview:
    if kind == "int8":
        return raw.cast("b", (len(raw) // width, width))
    return raw.cast("H", (len(raw) // width // 2, width))  # before Python 3.12, no view has halves


def singles(values: Iterable[float]) -> array[float]:
    """Numbers, cut to 32 bits each."""
    return array("f", list(values))


def total(rows: Iterable[Sequence[float]], width: int) -> array[float]:
    """The sum of rows, added one after the other as numpy does."""
    found = singles(repeat(0.0, width))
    for row in rows:
        found = singles(map(add, found, row))
    return found


def mean(rows: Rows) -> Rows:
    """The mean of some rows, as the only one of its own."""
    if not isinstance(rows, list):
        return rows.mean(axis=0, keepdims=True)
    return rows if len(rows) == 1 else [singles(map(truediv, total(rows, len(rows[0])), repeat(len(rows))))]


def quantised(row: Sequence[float]) -> bytes:
    """One signed byte a number, scaled by the largest."""
    peak = max(max(row, default=0.0), -min(row, default=0.0)) or 1.0
    scaled = singles(map(mul, singles(map(truediv, row, repeat(peak))), repeat(127.0)))
    return array("b", list(map(round, scaled))).tobytes()


def cosines(rows: Rows) -> list[float]:
    """Of the first row with each of the others; nothing has an angle with a row of no length."""
    if not isinstance(rows, list):
        return _cosines(rows)
    first, *others = rows
    lengths = [sum(map(mul, row, row)) ** 0.5 for row in (first, *others)]
    return [
        sum(map(mul, first, row)) / (lengths[0] * length) if lengths[0] * length else 0.0
        for row, length in zip(others, lengths[1:], strict=True)
    ]


def _cosines(rows: npt.NDArray[np.float32]) -> list[float]:
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1)
    lengths[lengths == 0] = np.inf
    found: list[float] = ((rows[1:] @ rows[0]) / (lengths[1:] * lengths[0])).tolist()
    return found
