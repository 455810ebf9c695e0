"""Counts, shape and age of the graph. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from memsweep.model.graph import Edge
from memsweep.model.reach import components
from memsweep.model.validity import holds
from memsweep.model.whole_graph import GraphStatus, GraphSurvey

BUCKETS = 10


def status(survey: GraphSurvey, now: datetime) -> GraphStatus:
    current = [edge for edge in survey.edges if holds(edge, now)]
    keys = [entity.key for entity in survey.entities]
    sizes = Counter(components(keys, ((edge.subject, edge.object) for edge in current)))
    linked = {end for edge in survey.edges for end in (edge.subject, edge.object)}
    return GraphStatus(
        entities=len(keys),
        relations=len(survey.edges),
        current_facts=len(current),
        ended_facts=sum(edge.invalid_at is not None and edge.invalid_at <= now for edge in survey.edges),
        pinned=sum(entity.pinned for entity in survey.entities),
        orphans=sum(entity.key not in linked and not entity.mentions for entity in survey.entities),
        components=len(sizes),
        largest_component=max(sizes.values(), default=0),
        density=density(len(keys), current),
        by_type=_counted(entity.type for entity in survey.entities),
        by_relation=_counted(edge.relation for edge in current),
        confidence_histogram=histogram(entity.confidence for entity in survey.entities),
        weight_histogram=histogram(edge.weight for edge in current),
    )


def density(nodes: int, edges: Iterable[Edge]) -> float:
    """The share of all possible ordered pairs of entities between which there is a fact."""
    pairs = {(edge.subject, edge.object) for edge in edges if edge.subject != edge.object}
    return len(pairs) / (nodes * (nodes - 1)) if nodes > 1 else 0.0


def histogram(shares: Iterable[float]) -> tuple[int, ...]:
    """How many lie in each tenth from 0 to 1; the last one has 1 itself."""
    counts = [0] * BUCKETS
    for share in shares:
        counts[min(BUCKETS - 1, int(share * BUCKETS))] += 1
    return tuple(counts)


def _counted(words: Iterable[str]) -> dict[str, int]:
    """The most frequent first."""
    return dict(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))
