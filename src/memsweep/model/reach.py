"""Which entities hold on to life: reachability over a graph of any shape, cycles included. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SPARSE = 8  # a list with so many places for each node is cheaper than to number the nodes first


def components(nodes: Sequence[int], edges: Iterable[tuple[int, int]]) -> list[int]:
    """For each node (by position) the one that stands for its component.

    Edges to nodes that are not listed are ignored. Nodes are numbers from 0 up, as a store counts its rows.
    """
    if max(nodes, default=0) < _SPARSE * len(nodes):
        return _united(nodes, edges)
    place = {node: position for position, node in enumerate(nodes)}
    nowhere = len(nodes)
    numbered = ((place.get(left, nowhere), place.get(right, nowhere)) for left, right in edges)
    return [nodes[position] for position in _united(range(len(nodes)), numbered)]


def _united(nodes: Sequence[int], edges: Iterable[tuple[int, int]]) -> list[int]:
    """Union by number with path halving, in a list that has a place for every number up to the highest."""
    top = max(nodes, default=-1)
    parent = [-1] * (top + 1)
    for node in nodes:
        parent[node] = node
    for a, b in edges:
        if a > top or b > top:
            continue
        above_a, above_b = parent[a], parent[b]
        if above_a == above_b or above_a < 0 or above_b < 0:
            continue
        while above_a != a:
            parent[a] = a = parent[above_a]
            above_a = parent[a]
        while above_b != b:
            parent[b] = b = parent[above_b]
            above_b = parent[b]
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b
    for number, above in enumerate(parent):  # a parent has a smaller number, so one pass upwards flattens all
        if above >= 0:
            parent[number] = parent[above]
    return [parent[node] for node in nodes]


def unreachable(nodes: Sequence[int], edges: Iterable[tuple[int, int]], roots: set[int]) -> set[int]:
    """The nodes in whose component there is no root."""
    standing_for = components(nodes, edges)
    alive = {part for node, part in zip(nodes, standing_for, strict=True) if node in roots}
    return {node for node, part in zip(nodes, standing_for, strict=True) if part not in alive}
