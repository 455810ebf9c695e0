"""Answers about the graph as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memsweep.model.text import counted
from memsweep.report.graph import shown_edge, shown_entity
from memsweep.report.memory import SecretsMet, secrets_met
from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.graph import (
        Briefing,
        Communities,
        Doubt,
        Edge,
        Entity,
        Exported,
        GraphBatch,
        GraphStatus,
        Imported,
        Related,
    )

_MOST_KINDS = 50
_MOST_MEMBERS = 20  # of a community


class QueryAnswer(TypedDict):
    entities: list[dict[str, Any]]
    related: list[dict[str, Any]]
    relations: list[dict[str, Any]]


class GraphStatusAnswer(TypedDict):
    entities: int
    relations: int
    current_facts: int
    ended_facts: int
    pinned: int
    orphans: int
    components: int
    largest_component: int
    density: float
    by_type: dict[str, int]
    by_relation: dict[str, int]
    decay: dict[str, dict[str, int]]


class ValidateAnswer(TypedDict):
    findings: list[dict[str, Any]]
    counts: dict[str, int]
    total: int


class CommunitiesAnswer(TypedDict):
    communities: list[dict[str, Any]]
    total: int
    modularity: float


class ContextAnswer(TypedDict):
    summary: str
    recent: list[dict[str, Any]]
    central: list[dict[str, Any]]
    contradictory: list[dict[str, Any]]
    stale: list[dict[str, Any]]


class BuildAnswer(SecretsMet):
    dry_run: bool
    entities: list[dict[str, Any]]
    relations: list[dict[str, Any]]
    entities_created: int
    relations_created: int
    relations_strengthened: int


class ExportAnswer(TypedDict):
    path: str
    format: str
    entities: int
    relations: int
    bytes: int


class ImportAnswer(SecretsMet):
    entities_created: int
    entities_known: int
    relations_created: int
    relations_known: int


def queried(
    starts: Sequence[Entity], others: Sequence[Entity], distance: Mapping[int, int], edges: Iterable[Edge]
) -> QueryAnswer:
    names = {each.key: each.name for each in (*starts, *others)}
    return {
        "entities": [shown_entity(each) for each in starts],
        "related": [{**shown_entity(each), "hops": distance[each.key]} for each in others],
        "relations": [shown_edge(each, names) for each in edges],
    }


def status(result: GraphStatus) -> GraphStatusAnswer:
    return {
        "entities": result.entities,
        "relations": result.relations,
        "current_facts": result.current_facts,
        "ended_facts": result.ended_facts,
        "pinned": result.pinned,
        "orphans": result.orphans,
        "components": result.components,
        "largest_component": result.largest_component,
        "density": round(result.density, 8),
        "by_type": _first(result.by_type),
        "by_relation": _first(result.by_relation),
        "decay": {
            "confidence": _histogram(result.confidence_histogram),
            "weight": _histogram(result.weight_histogram),
        },
    }


def validated(found: Sequence[Doubt], limit: int) -> ValidateAnswer:
    counts: dict[str, int] = {}
    for doubt in found:
        counts[doubt.kind] = counts.get(doubt.kind, 0) + 1
    return {"findings": [shown_doubt(each) for each in found[:limit]], "counts": counts, "total": len(found)}


def communities(result: Communities, limit: int) -> CommunitiesAnswer:
    return {
        "communities": [
            {
                "size": len(each.members),
                "members": [member.name for member in each.members[:_MOST_MEMBERS]],
                "weight_inside": round(each.inside, 4),
                "weight_outside": round(each.outside, 4),
            }
            for each in result.found[:limit]
        ],
        "total": len(result.found),
        "modularity": round(result.modularity, 4),
    }


def context(result: Briefing) -> ContextAnswer:
    what = f"{counted(result.entities, 'entity', 'entities')}, {counted(result.facts, 'current fact')}"
    doubts = "contradictions below" if result.contradictory else "no contradictions"
    return {
        "summary": f"{what}, {doubts}.",
        "recent": [shown_edge(each, result.names) for each in result.recent],
        "central": [{**shown_entity(each), "strength": round(strength, 4)} for each, strength in result.central],
        "contradictory": [shown_doubt(each) for each in result.contradictory],
        "stale": [shown_edge(each, result.names) for each in result.stale],
    }


def built(batch: GraphBatch, outcome: Related | None) -> BuildAnswer:
    states = [each.state for each in outcome.relations] if outcome else []
    met: SecretsMet = secrets_met(outcome) if outcome else {}
    return {
        "dry_run": outcome is None,
        "entities": [{"name": each.name, **({"type": each.type} if each.type else {})} for each in batch.entities],
        "relations": [
            {"from": _name(each.subject), "relation": each.relation, "to": _name(each.object)}
            for each in batch.relations
        ],
        "entities_created": len(outcome.entities_created) if outcome else 0,
        "relations_created": states.count("created"),
        "relations_strengthened": states.count("strengthened"),
        **met,
    }


def exported(result: Exported) -> ExportAnswer:
    return {
        "path": result.path,
        "format": result.format,
        "entities": result.entities,
        "relations": result.relations,
        "bytes": result.size_bytes,
    }


def imported(result: Imported) -> ImportAnswer:
    return {
        "entities_created": result.entities_created,
        "entities_known": result.entities_known,
        "relations_created": result.relations_created,
        "relations_known": result.relations_known,
        **secrets_met(result),
    }


def shown_doubt(each: Doubt) -> dict[str, Any]:
    return {
        "kind": each.kind,
        "why": each.why,
        "ids": list(each.ids),
        "names": list(each.names),
        "score": round(each.score, 4),
    }


def _histogram(counts: Sequence[int]) -> dict[str, int]:
    step = 1 / len(counts)
    return {f"{bucket * step:.1f}-{(bucket + 1) * step:.1f}": count for bucket, count in enumerate(counts)}


def _first(counts: Mapping[str, int]) -> dict[str, int]:
    """The most frequent; code alone may have thousands of kinds."""
    return dict(list(counts.items())[:_MOST_KINDS])


def _name(end: object) -> str:
    return str(getattr(end, "name", end))
