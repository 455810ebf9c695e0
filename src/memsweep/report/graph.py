"""Answers about the knowledge graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NotRequired

from memsweep.model.times import iso
from memsweep.report.memory import SecretsMet, secrets_met
from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.graph import Doubt, Edge, Entity, EntityPage, FactCount, Reinforced, Related

_MOST_KINDS = 20


class RelateAnswer(SecretsMet):
    created: list[dict[str, Any]]
    strengthened: list[dict[str, Any]]
    superseded: list[str]
    entities_created: int


class ReinforceAnswer(TypedDict):
    relation_id: str
    old_weight: float
    new_weight: float


class EntitiesAnswer(TypedDict):
    entities: list[dict[str, Any]]
    total: int


class RelatedAnswer(TypedDict):
    entity: dict[str, Any]
    related: list[dict[str, Any]]
    relations: list[dict[str, Any]]
    facts: list[dict[str, Any]]
    contradictions: NotRequired[list[str]]


class EntityPageAnswer(TypedDict):
    entities: list[dict[str, Any]]
    first: int
    total: int
    next_cursor: str | None


def entity_page(page: EntityPage) -> EntityPageAnswer:
    counted = [{**shown_entity(each), "mentions": each.mentions, "facts": each.relations} for each in page.entities]
    return {"entities": counted, "first": page.first, "total": page.total, "next_cursor": page.next_cursor}


def related_facts(result: Related) -> RelateAnswer:
    def shown(state: str) -> list[dict[str, Any]]:
        return [
            {"id": each.id, "from": each.subject, "relation": each.relation, "to": each.object, "weight": each.weight}
            for each in result.relations
            if each.state == state
        ]

    return {
        "created": shown("created"),
        "strengthened": shown("strengthened"),
        "superseded": [uid for each in result.relations for uid in each.superseded],
        "entities_created": len(result.entities_created),
        **secrets_met(result),
    }


def reinforced(result: Reinforced) -> ReinforceAnswer:
    old, new = round(result.old_weight, 4), round(result.new_weight, 4)
    return {"relation_id": result.id, "old_weight": old, "new_weight": new}


def entities(found: Iterable[Entity], total: int) -> EntitiesAnswer:
    return {"entities": [shown_entity(each) for each in found], "total": total}


def neighbourhood(
    start: Entity,
    others: Iterable[Entity],
    distance: Mapping[int, int],
    edges: Iterable[Edge],
    facts: Iterable[FactCount] = (),
    contradictions: Iterable[Doubt] = (),
) -> RelatedAnswer:
    near = list(others)
    names = {each.key: each.name for each in (start, *near)}
    doubts = [each.why for each in contradictions]
    answer: RelatedAnswer = {
        "entity": {**shown_entity(start), "mentions": start.mentions, "facts": start.relations},
        "related": [{**shown_entity(each), "hops": distance[each.key]} for each in near],
        "relations": [shown_edge(each, names) for each in edges],
        "facts": [each._asdict() for each in islice(facts, _MOST_KINDS)],
    }
    return {**answer, "contradictions": doubts} if doubts else answer


def shown_entity(each: Entity) -> dict[str, Any]:
    return {
        "id": each.id,
        "name": each.name,
        "type": each.type,
        "confidence": round(each.confidence, 4),
        "last_seen": iso(each.last_seen),
        "pinned": each.pinned,
    }


def shown_edge(each: Edge, names: Mapping[int, str]) -> dict[str, Any]:
    shown = {
        "id": each.id,
        "from": names.get(each.subject),
        "relation": each.relation,
        "to": names.get(each.object),
        "weight": round(each.weight, 4),
        **({"sources": list(each.sources)} if each.sources else {}),
        **({"tier": each.tier} if each.tier else {}),
    }
    return {**shown, "invalid_at": iso(each.invalid_at)} if each.invalid_at else shown
