"""Communities by Louvain's method: every node moves where it raises modularity most, then communities become nodes.

Pure and deterministic: nodes are visited in their order, and of equal gains the smallest label wins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from memsweep.model.graph import Communities, Community, GraphSurvey, by_name
from memsweep.model.times import holds

Links = dict[int, dict[int, float]]
"""For each node its neighbours with the weight between; a node's own entry counts each inner edge twice."""

MAX_PASSES = 20
_GAIN = 1e-9


def communities(survey: GraphSurvey, now: datetime, *, smallest: int = 2) -> Communities:
    """Communities of at least so many entities, the largest first, by facts that hold now."""
    entities = {entity.key: entity for entity in survey.entities}
    edges = [
        (edge.subject, edge.object, edge.weight)
        for edge in survey.edges
        if holds(edge, now) and edge.subject in entities and edge.object in entities
    ]
    links = link(entities, edges)
    label = louvain(links)
    groups: dict[int, list[int]] = defaultdict(list)
    for key in entities:
        groups[label[key]].append(key)
    found = []
    for members in groups.values():
        if len(members) < smallest:
            continue
        within = set(members)
        strength = {key: sum(links[key].values()) for key in members}
        inner = sum(weight for key in members for other, weight in links[key].items() if other in within) / 2
        ordered = sorted(members, key=lambda key: (-strength[key], *by_name(entities[key])))
        outer = sum(strength.values()) - 2 * inner
        found.append(Community(tuple(entities[key] for key in ordered), inner, max(0.0, outer)))
    found.sort(key=lambda each: (-len(each.members), *by_name(each.members[0])))
    return Communities(tuple(found), modularity(links, label))


def link(nodes: Iterable[int], edges: Iterable[tuple[int, int, float]]) -> Links:
    """Undirected: facts between the same two add up, and one of a node with itself says nothing."""
    links: Links = {node: {} for node in nodes}
    for a, b, weight in edges:
        if a != b and weight > 0:
            links[a][b] = links[a].get(b, 0.0) + weight
            links[b][a] = links[b].get(a, 0.0) + weight
    return links


def louvain(links: Links) -> dict[int, int]:
    """For each node the label of its community."""
    label = {node: node for node in links}
    while True:
        moved = _settle(links)
        if len(set(moved.values())) == len(links):
            return label
        label = {node: moved[home] for node, home in label.items()}
        links = _condense(links, moved)


def modularity(links: Links, label: dict[int, int]) -> float:
    """Return how much more of the weight lies inside communities than chance would put there."""
    total = sum(sum(near.values()) for near in links.values())
    if not total:
        return 0.0
    strength: dict[int, float] = defaultdict(float)
    inside = 0.0
    for node, near in links.items():
        strength[label[node]] += sum(near.values())
        inside += sum(weight for other, weight in near.items() if label[other] == label[node])
    return inside / total - sum((each / total) ** 2 for each in strength.values())


def _settle(links: Links) -> dict[int, int]:
    """Move nodes one by one until nothing gains any more."""
    home = {node: node for node in links}
    strength = {node: sum(near.values()) for node, near in links.items()}
    of_home = dict(strength)
    total = sum(strength.values())
    order: Sequence[int] = [node for node in links if strength[node] > 0]
    for _ in range(MAX_PASSES):
        again: set[int] = set()
        for node in order:
            old, own = home[node], strength[node]
            to: dict[int, float] = {old: 0.0}
            for other, weight in links[node].items():
                if other != node:
                    to[home[other]] = to.get(home[other], 0.0) + weight
            of_home[old] -= own
            best, most = old, to[old] - own * of_home[old] / total
            for where, weight in to.items():
                gain = weight - own * of_home[where] / total
                if gain > most + _GAIN or (gain > most - _GAIN and where < best and best != old):
                    best, most = where, gain
            of_home[best] += own
            if best != old:
                home[node] = best
                again.update(other for other in links[node] if home[other] != best)
        order = sorted(again)
        if not order:
            break
    return home


def _condense(links: Links, home: dict[int, int]) -> Links:
    """Communities as nodes; what is inside becomes a weight of its own."""
    joined: Links = {label: {} for label in sorted(set(home.values()))}
    for node, near in links.items():
        row = joined[home[node]]
        for other, weight in near.items():
            row[home[other]] = row.get(home[other], 0.0) + weight
    return joined
