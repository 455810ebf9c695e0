"""Walking the graph outwards from an entity: breadth first, strongest relations first. It is handed its edges."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from memsweep.model.graph import Edge

EdgesAt = Callable[[Collection[int]], list[Edge]]


@dataclass(frozen=True, slots=True)
class Walk:
    """The result of a walk: how many steps away each entity is, and the relations on the way."""

    distance: dict[int, int]
    edges: tuple[Edge, ...]


def walk(
    starts: Collection[int],
    edges_at: EdgesAt,
    *,
    depth: int,
    limit: int,
    min_weight: float,
    holding: Callable[[Edge], bool],
) -> Walk:
    """Entities within `depth` steps over relations that weigh enough and hold, and no more than `limit` of them beside
    the starts."""
    distance = dict.fromkeys(starts, 0)
    most = len(distance) + limit
    taken: dict[str, Edge] = {}
    border = list(distance)
    for step in range(1, depth + 1):
        met = (edge for edge in edges_at(border) if edge.weight >= min_weight)
        found = [edge for edge in met if holding(edge)]
        following: list[int] = []
        for edge in sorted(found, key=lambda edge: (-edge.weight, edge.id)):
            for here, there in ((edge.subject, edge.object), (edge.object, edge.subject)):
                if here in distance and there not in distance and len(distance) < most:
                    distance[there] = step
                    following.append(there)
            if edge.subject in distance and edge.object in distance:
                taken.setdefault(edge.id, edge)
        border = following
        if not border:
            break
    return Walk(distance, tuple(taken.values()))
