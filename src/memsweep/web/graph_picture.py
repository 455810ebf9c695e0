"""Lay out the entities around one of them: a tree to both sides, so that no name covers another. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memsweep.model.graph import Edge, Entity

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
