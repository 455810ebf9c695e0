"""Which entities hold on to life: reachability over a graph of any shape, cycles included. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def components(nodes: Sequence[int], edges: Iterable[tuple[int, int]]) -> list[int]:
    """For each node (by position) the position of the one that stands for its component.

    Union by index with path halving; edges to nodes that are not listed are ignored.
    """
    place = {node: position for position, node in enumerate(nodes)}
    parent = list(range(len(nodes)))
    find_place = place.get
    for left, right in edges:
        a, b = find_place(left), find_place(right)
        if a is None or b is None:
            continue
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        while parent[b] != b:
            parent[b] = b = parent[parent[b]]
        if a != b:
            parent[b if a < b else a] = a if a < b else b
    for position in range(len(nodes)):  # a parent always has a smaller index, so one pass flattens all
        parent[position] = parent[parent[position]]
    return parent


def unreachable(nodes: Sequence[int], edges: Iterable[tuple[int, int]], roots: set[int]) -> set[int]:
    """The nodes in whose component there is no root."""
    standing_for = components(nodes, edges)
    alive = {standing_for[position] for position, node in enumerate(nodes) if node in roots}
    return {node for position, node in enumerate(nodes) if standing_for[position] not in alive}
