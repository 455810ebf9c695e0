"""Places for SVG (growth, a graph, a context window), computed so that a page needs no script and no style. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memsweep.model.counts import DayCount
from memsweep.model.graph import Edge, Entity
from memsweep.model.window import StripSegment

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


MOST_NODES = 36
COLOURS = 6
_ROW, _STEP, _MARGIN, _PAD = 29, 190, 160, 14


@dataclass(frozen=True, slots=True)
class Node:
    entity: Entity
    x: int
    y: int
    side: int
    """1 on the right of the start, -1 on the left."""
    hops: int
    colour: int
    has_more: bool
    """Whether others hang on it, so that its name stands above it."""
    via: Edge | None = None
    is_object: bool = False
    """Whether the fact that leads here has it as its object."""


@dataclass(frozen=True, slots=True)
class DrawnLine:
    edge: Edge
    subject: Entity
    object: Entity
    path: str
    """Empty where an entity has a fact with itself, which is only told."""
    in_tree: bool


@dataclass(frozen=True, slots=True)
class GraphPicture:
    width: int
    height: int
    nodes: tuple[Node, ...]
    lines: tuple[DrawnLine, ...]
    """What crosses the tree first, so that the tree lies above it."""
    types: tuple[str, ...]
    """Those that have a colour of their own, the most frequent first."""


@dataclass(slots=True)
class _Tree:
    """Everybody at the end of the strongest fact that leads there in the fewest steps."""

    hops: dict[int, int]
    below: dict[int, list[int]] = field(default_factory=dict)
    via: dict[int, Edge] = field(default_factory=dict)

    def leaves(self, key: int) -> int:
        return max(1, sum(map(self.leaves, self.below.get(key, ()))))


def draw(start: Entity, others: Iterable[Entity], edges: Iterable[Edge]) -> GraphPicture:
    """The start in the middle, with whom the facts lead to."""
    everyone = {start.key: start} | {each.key: each for each in others}
    known = [edge for edge in edges if edge.subject in everyone and edge.object in everyone]
    tree = _tree(start.key, known)
    sides = _sides(tree, start.key)
    rows = max(sum(map(tree.leaves, side)) for side in sides)
    half, height = max(tree.hops.values()) * _STEP + _MARGIN, max(rows, 2) * _ROW + 2 * _PAD
    spots = {start.key: (half, height // 2, 1)}
    for side, sign in zip(sides, (1, -1), strict=True):
        at = (height - _ROW * sum(map(tree.leaves, side))) / 2
        for key in side:
            at = _place(tree, key, at, sign, half, spots)
    types = tuple(kind for kind, _ in Counter(everyone[key].type for key in spots).most_common(COLOURS))
    nodes = tuple(_node(everyone[key], key, tree, spot, types) for key, spot in spots.items())
    return GraphPicture(2 * half, height, nodes, _lines(known, everyone, spots, tree), types)


def _tree(start: int, edges: Sequence[Edge]) -> _Tree:
    near: dict[int, dict[int, Edge]] = {}
    for edge in sorted(edges, key=lambda edge: (edge.weight, edge.id)):  # of several the strongest stays
        near.setdefault(edge.subject, {})[edge.object] = edge
        near.setdefault(edge.object, {})[edge.subject] = edge
    tree, queue = _Tree({start: 0}), [start]
    for key in queue:
        for other, edge in sorted(near.get(key, {}).items(), key=lambda each: (-each[1].weight, each[1].id)):
            if other not in tree.hops:
                tree.hops[other], tree.via[other] = tree.hops[key] + 1, edge
                tree.below.setdefault(key, []).append(other)
                queue.append(other)
    return tree


def _sides(tree: _Tree, start: int) -> tuple[list[int], list[int]]:
    """Right and left, with about as many names on each."""
    sides: tuple[list[int], list[int]] = ([], [])
    for key in sorted(tree.below.get(start, ()), key=tree.leaves, reverse=True):
        min(sides, key=lambda side: sum(map(tree.leaves, side))).append(key)
    return sides


def _place(tree: _Tree, key: int, top: float, sign: int, half: int, spots: dict[int, tuple[int, int, int]]) -> float:
    """Put a branch below `top`, its own place in the middle of it; where it ends."""
    at = top
    for child in tree.below.get(key, ()):
        at = _place(tree, child, at, sign, half, spots)
    at = at if key in tree.below else top + _ROW
    spots[key] = (half + sign * (tree.hops[key] * _STEP - 36), round((top + at) / 2), sign)
    return at


def _node(entity: Entity, key: int, tree: _Tree, spot: tuple[int, int, int], types: Sequence[str]) -> Node:
    colour = types.index(entity.type) if entity.type in types else COLOURS
    via = tree.via.get(key)
    is_object = via is not None and via.object == key
    return Node(entity, *spot, tree.hops[key], colour, key in tree.below, via, is_object)


def _lines(
    edges: Iterable[Edge],
    everyone: Mapping[int, Entity],
    spots: Mapping[int, tuple[int, int, int]],
    tree: _Tree,
) -> tuple[DrawnLine, ...]:
    own = {edge.id for edge in tree.via.values()}
    made = [
        DrawnLine(edge, everyone[edge.subject], everyone[edge.object], _curve(spots, edge), edge.id in own)
        for edge in edges
        if edge.subject in spots
    ]
    return tuple(sorted(made, key=lambda line: (line.in_tree, line.edge.weight)))


def _curve(spots: Mapping[int, tuple[int, int, int]], edge: Edge) -> str:
    if edge.subject == edge.object:
        return ""
    (x, y, side), (to_x, to_y, _) = spots[edge.subject], spots[edge.object]
    middle = (x + to_x) // 2 if x != to_x else x + side * 46
    return f"M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}"


LINES, LINE_HEIGHT, BAR_HEIGHT, _LINE_WIDTH = 4, 46, 38, 1000.0
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
    unit, made, at = LINES * _LINE_WIDTH / total if total else 0.0, list[Bar](), 0.0
    for segment in segments:
        left = segment.tokens * unit
        while left > 1e-6:
            line = min(int((at + 1e-6) // _LINE_WIDTH), LINES - 1)
            width = min(left, (line + 1) * _LINE_WIDTH - at) if line < LINES - 1 else left
            _put(made, Bar(line, round(at - line * _LINE_WIDTH, 2), width, *_look(segment)), len(segments))
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
