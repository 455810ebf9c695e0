"""A context window as lines of bars, each as wide as its tokens, in the order of the session. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memsweep.model.window import StripSegment

LINES, LINE_HEIGHT, BAR_HEIGHT, WIDTH = 4, 46, 38, 1000.0
_GAP, _NARROWEST = 1.2, 0.8
_FEW = 500
"""Up to so many segments each has a bar of its own; of more, those that nobody could see join the one before."""


@dataclass(slots=True)
class Bar:
    line: int
    x: float
    width: float
    goes: bool
    is_root: bool
    keep: float
    title: str

    @property
    def y(self) -> int:
        return self.line * LINE_HEIGHT

    @property
    def drawn(self) -> float:
        """With a gap to the next one."""
        return round(max(self.width - _GAP, _NARROWEST), 2)


def bars(segments: Sequence[StripSegment]) -> list[Bar]:
    """A bar that reaches the end of a line goes on in the next one."""
    total = sum(each.tokens for each in segments)
    unit, made, at = LINES * WIDTH / total if total else 0.0, list[Bar](), 0.0
    for segment in segments:
        left = segment.tokens * unit
        while left > 1e-6:
            line = min(int((at + 1e-6) // WIDTH), LINES - 1)
            width = min(left, (line + 1) * WIDTH - at) if line < LINES - 1 else left
            _put(made, Bar(line, round(at - line * WIDTH, 2), width, *_look(segment)), len(segments))
            at, left = at + width, left - width
    return made


def _put(made: list[Bar], bar: Bar, segments: int) -> None:
    before = made[-1] if made else None
    if segments > _FEW and bar.width < 1 and before and before.line == bar.line and before.goes == bar.goes:
        before.width += bar.width
    else:
        made.append(bar)


def _look(segment: StripSegment) -> tuple[bool, bool, float, str]:
    fate = ", would go" if segment.goes else f", {segment.root}" if segment.root else ""
    keep = round(0.2 + 0.75 * segment.keep_score, 2)
    return segment.goes, bool(segment.root), keep, f"{segment.type}, {segment.tokens} tokens{fate}"
