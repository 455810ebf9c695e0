"""How much the tests do: a little in `make test`, all of it in `make soak`, less in `make quick`: see MEMSWEEP_SOAK."""

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
_SOAK = int(os.environ.get("MEMSWEEP_SOAK", "1"))  # 0 in `make quick`
TIMES = max(1, _SOAK)
THOROUGH, QUICK = _SOAK > 1, _SOAK == 0


def rounds(few: int, full: int) -> int:
    """How often to do something: a few times, or the full number as often as the soak says; a third in `make quick`."""
    if THOROUGH:
        return full * TIMES
    return max(1, few // 3) if QUICK else few


def some_of(points: Sequence[T], count: int, always: Iterable[int] = (), thorough: bool = THOROUGH) -> list[T]:
    """So many of the points, from the first to the last, and those at the indices `always`; all of them in a soak."""
    if thorough or len(points) <= count:
        return list(points)
    last = len(points) - 1
    spread = {last} if count == 1 else {step * last // (count - 1) for step in range(count)}
    return [points[index] for index in sorted(spread.union(always))]


def turns(steps: Sequence[str]) -> list[int]:
    """Where another kind of step follows one for the first time: twenty tables in a row are made one like the other."""
    first: dict[tuple[str, str], int] = {}
    for index, pair in enumerate(pairwise(["", *steps])):
        first.setdefault(pair, index)
    return [index for (before, step), index in first.items() if before != step]
