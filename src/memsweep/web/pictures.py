"""Places for SVG, computed here so that a page needs no script to draw and no style attribute. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memsweep.model.counts import DayCount

WIDTH, HEIGHT = 1000, 100
_ROUND = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)
_STEPS = 4


@dataclass(frozen=True, slots=True)
class Growth:
    """Two areas, one upon the other, under a round top, and the labels of its axis from top to bottom."""

    notes: str
    code: str
    line: str
    ticks: tuple[int, ...]
    days: int
    week: int
    """What was added in the last seven days."""
    has_code: bool


def growth(days: Sequence[DayCount]) -> Growth | None:
    """None where there is nothing to draw."""
    if len(days) < 2 or not (days[-1].total_notes or days[-1].total_files):
        return None
    top = _round_top(max(each.total_notes + each.total_files for each in days))
    upper = [_point(days, at, each.total_notes + each.total_files, top) for at, each in enumerate(days)]
    lower = [_point(days, at, each.total_files, top) for at, each in enumerate(days)]
    return Growth(
        notes=" ".join([*upper, *reversed(lower)]),
        code=" ".join([*lower, f"{WIDTH},{HEIGHT}", f"0,{HEIGHT}"]),
        line=" ".join(upper),
        ticks=tuple(round(top * step / _STEPS) for step in range(_STEPS, -1, -1)),
        days=len(days),
        week=sum(each.notes + each.files for each in days[-7:]),
        has_code=days[-1].total_files > 0,
    )


def _point(days: Sequence[DayCount], at: int, value: int, top: float) -> str:
    return f"{at * WIDTH / (len(days) - 1):.1f},{HEIGHT - value * HEIGHT / top:.2f}"


def _round_top(most: int) -> float:
    """The next number up whose quarters are easy to read; small ones have whole quarters."""
    if most <= _STEPS:
        return _STEPS
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in _ROUND if step * power >= most)
