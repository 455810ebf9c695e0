"""Find the entities that are reachable, over a graph of any shape, cycles included. Pure.

Nodes are numbers from 0 up, as a store counts its rows; edges to nodes that are not listed are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

Pair = tuple[int, int]
_SPARSE = 8  # a list with so many places for each node is cheaper than to number the nodes first


def components(nodes: Sequence[int], edges: Iterable[Pair]) -> list[int]:
    """For each node (by position) the one that stands for its component."""
    top = max(nodes, default=0)
    if top < _SPARSE * len(nodes):
        parent = _places(nodes, top + 1)
        _unite_all(parent, edges)
        return _flat(parent, nodes)
    place = {node: position for position, node in enumerate(nodes)}
    nowhere = len(nodes)
    parent = _places(range(nowhere), nowhere + 1)
    _unite_all(parent, ((place.get(left, nowhere), place.get(right, nowhere)) for left, right in edges))
    return [nodes[position] for position in _flat(parent, range(nowhere))]


def unreachable(nodes: Sequence[int], edges: Iterable[Pair], roots: set[int]) -> set[int]:
    """The nodes in whose component there is no root."""
    standing_for = components(nodes, edges)
    alive = {part for node, part in zip(nodes, standing_for, strict=True) if node in roots}
    return {node for node, part in zip(nodes, standing_for, strict=True) if part not in alive}


def spanning(nodes: Sequence[int], edges: Iterable[Pair]) -> list[Pair]:
    """Of many edges as few as connect the same nodes; and those that lead from a node to itself."""
    return _unite_all(_places(nodes, max(nodes, default=0) + 1), edges)


def without_root(nodes: Sequence[int], edges: Iterable[Pair], roots: set[int]) -> tuple[list[int], list[Pair]]:
    """The nodes in whose component there is no root, and as few edges as connect them."""
    parent = _places(nodes, max(nodes, default=0) + 1)
    used = _unite_all(parent, edges)
    _flatten(parent)
    alive = {-1, *(parent[root] for root in roots if root < len(parent))}  # -1: a place without a node
    left = [node for node in nodes if parent[node] not in alive]
    return left, [edge for edge in used if parent[edge[0]] not in alive]


def _places(nodes: Iterable[int], size: int) -> list[int]:
    """A list with a place for every number below `size`, in which each node is its own parent."""
    parent = [-1] * size
    for node in nodes:
        parent[node] = node
    return parent


def _unite_all(parent: list[int], edges: Iterable[Pair]) -> list[Pair]:
    """Union by number with path halving; the edges that united something, or led from a node to itself."""
    used: list[Pair] = []
    waiting = iter(edges)
    while True:
        try:
            _unite(parent, waiting, used)
            return used
        except IndexError:  # an end beyond the list: that edge is passed over, and the next one is up
            continue


def _unite(parent: list[int], edges: Iterator[Pair], used: list[Pair]) -> None:
    for edge in edges:
        a, b = edge
        above_a, above_b = parent[a], parent[b]
        if above_a == above_b or above_a < 0 or above_b < 0:
            if a == b:
                used.append(edge)
            continue
        while above_a != a:
            parent[a] = a = parent[above_a]
            above_a = parent[a]
        while above_b != b:
            parent[b] = b = parent[above_b]
            above_b = parent[b]
        if a != b:
            parent[b if a < b else a] = a if a < b else b
            used.append(edge)


def _flat(parent: list[int], nodes: Iterable[int]) -> list[int]:
    _flatten(parent)
    return [parent[node] for node in nodes]


def _flatten(parent: list[int]) -> None:
    for number, above in enumerate(parent):  # a parent has a smaller number, so one pass upwards flattens all
        if above >= 0:
            parent[number] = parent[above]
