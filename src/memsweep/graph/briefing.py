"""One look at the graph before work begins: recent, central, contradictory, stale. Pure."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime

from memsweep.graph.validate import contradictions, superseded
from memsweep.model.graph import Edge
from memsweep.model.validity import holds
from memsweep.model.whole_graph import Briefing, GraphSurvey

STALE_WEIGHT = 0.5
STALE_DAYS = 30


def brief(survey: GraphSurvey, now: datetime, limit: int, without: Collection[str] = ()) -> Briefing:
    """Each list has `limit` entries at most. Stale is what has faded below half and was not confirmed for a month.

    Relations of the kinds `without` are left out.
    """
    entities = {entity.key: entity for entity in survey.entities}
    facts = [
        edge
        for edge in survey.edges
        if edge.relation not in without and holds(edge, now) and edge.subject in entities and edge.object in entities
    ]
    strength = _strength(facts)
    central = heapq.nsmallest(
        limit, strength, key=lambda key: (-strength[key] * entities[key].confidence, entities[key].name)
    )
    recent = heapq.nsmallest(limit, facts, key=lambda edge: (-edge.last_seen.timestamp(), -edge.weight, edge.id))
    faded = (edge for edge in facts if edge.weight < STALE_WEIGHT and (now - edge.last_seen).days >= STALE_DAYS)
    stale = heapq.nsmallest(
        limit, faded, key=lambda edge: (-strength[edge.subject] - strength[edge.object], edge.weight, edge.id)
    )
    contradictory = sorted(
        contradictions(facts, entities, superseded(survey.edges)), key=lambda doubt: (-doubt.score, doubt.ids)
    )
    return Briefing(
        entities=len(entities),
        facts=len(facts),
        recent=tuple(recent),
        central=tuple((entities[key], strength[key]) for key in central),
        contradictory=tuple(contradictory[:limit]),
        stale=tuple(stale),
        names={end: entities[end].name for edge in (*recent, *stale) for end in (edge.subject, edge.object)},
    )


def _strength(facts: Iterable[Edge]) -> dict[int, float]:
    """What all facts of an entity weigh together."""
    strength: dict[int, float] = defaultdict(float)
    for edge in facts:
        if edge.subject != edge.object:
            strength[edge.subject] += edge.weight
            strength[edge.object] += edge.weight
        else:
            strength[edge.subject] += edge.weight
    return strength
