"""Answers about the knowledge graph, and the briefing of a workspace.

`nodes_pruned`, `would_delete_node` and the like are the names of the first design of `graph_prune`, which agents know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from memsweep.model.text import clipped, counted, listed
from memsweep.model.times import iso
from memsweep.report import Answer, amount, fields, filled, moved_with_a_way_back, skips
from memsweep.report.memory import secrets_met

if TYPE_CHECKING:
    from memsweep.graph.building import Built
    from memsweep.graph.facts import Neighbourhood
    from memsweep.graph.whole_graph import Queried
    from memsweep.model.graph import (
        Briefing,
        Communities,
        Decayed,
        Doubt,
        Edge,
        Entity,
        EntityPage,
        Exported,
        GraphStatus,
        Imported,
        Merged,
        Reinforced,
        Related,
        Split,
        WorkspaceBriefing,
    )
    from memsweep.model.plan import Plan, PlanView, Receipt
    from memsweep.model.search import Passage


_MOST_KINDS = 20


def entity_page(page: EntityPage) -> Answer:
    counted = [{**shown_entity(each), "mentions": each.mentions, "facts": each.relations} for each in page.entities]
    return {"entities": counted, **fields(page, "first", "total", "next_cursor")}


def related_facts(result: Related) -> Answer:
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


def reinforced(result: Reinforced) -> Answer:
    old, new = round(result.old_weight, 4), round(result.new_weight, 4)
    return {"relation_id": result.id, "old_weight": old, "new_weight": new}


def entities(found: Iterable[Entity], total: int) -> Answer:
    return {"entities": [shown_entity(each) for each in found], "total": total}


def neighbourhood(found: Neighbourhood) -> Answer:
    start, near = found.start, found.entities
    names = {each.key: each.name for each in (start, *near)}
    doubts = [each.why for each in found.contradictions]
    answer: Answer = {
        "entity": {**shown_entity(start), "mentions": start.mentions, "facts": start.relations},
        "related": [{**shown_entity(each), "hops": found.walk.distance[each.key]} for each in near],
        "relations": [shown_edge(each, names) for each in found.walk.edges],
        "facts": [fields(each) for each in islice(found.facts, _MOST_KINDS)],
    }
    return {**answer, "contradictions": doubts} if doubts else answer


def shown_entity(each: Entity) -> dict[str, Any]:
    return {
        **fields(each, "id", "name", "type", "confidence", "last_seen", "pinned"),
        "confidence": round(each.confidence, 4),
    }


def shown_edge(each: Edge, names: Mapping[int, str]) -> dict[str, Any]:
    return {
        "id": each.id,
        "from": names.get(each.subject),
        "relation": each.relation,
        "to": names.get(each.object),
        "weight": round(each.weight, 4),
        **filled(each, "sources", "tier", "invalid_at"),
    }


_MOST_TYPES = 50
_MOST_MEMBERS = 20  # of a community


def queried(found: Queried) -> Answer:
    names = {each.key: each.name for each in (*found.starts, *found.entities)}
    return {
        "entities": [shown_entity(each) for each in found.starts],
        "related": [{**shown_entity(each), "hops": found.walk.distance[each.key]} for each in found.entities],
        "relations": [shown_edge(each, names) for each in found.walk.edges],
    }


def status(result: GraphStatus) -> Answer:
    return {
        **fields(result, "entities", "relations", "current_facts", "ended_facts", "pinned", "orphans"),
        **fields(result, "components", "largest_component"),
        "density": round(result.density, 8),
        "by_type": _first(result.by_type),
        "by_relation": _first(result.by_relation),
        "decay": {
            "confidence": _histogram(result.confidence_histogram),
            "weight": _histogram(result.weight_histogram),
        },
    }


def validated(found: Sequence[Doubt], limit: int) -> Answer:
    counts: dict[str, int] = {}
    for doubt in found:
        counts[doubt.kind] = counts.get(doubt.kind, 0) + 1
    return {"findings": [shown_doubt(each) for each in found[:limit]], "counts": counts, "total": len(found)}


def communities(result: Communities, limit: int) -> Answer:
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


def context(result: Briefing) -> Answer:
    what = f"{counted(result.entities, 'entity', 'entities')}, {counted(result.facts, 'current fact')}"
    doubts = "contradictions below" if result.contradictory else "no contradictions"
    return {
        "summary": f"{what}, {doubts}.",
        "recent": [shown_edge(each, result.names) for each in result.recent],
        "central": [{**shown_entity(each), "strength": round(strength, 4)} for each, strength in result.central],
        "contradictory": [shown_doubt(each) for each in result.contradictory],
        "stale": [shown_edge(each, result.names) for each in result.stale],
    }


def built(result: Built) -> Answer:
    batch, outcome = result.batch, result.outcome
    states = [each.state for each in outcome.relations] if outcome else []
    return {
        "dry_run": outcome is None,
        "entities": [{"name": each.name, **filled(each, "type")} for each in batch.entities],
        "relations": [
            {"from": _name(each.subject), "relation": each.relation, "to": _name(each.object)}
            for each in batch.relations
        ],
        "entities_created": len(outcome.entities_created) if outcome else 0,
        "relations_created": states.count("created"),
        "relations_strengthened": states.count("strengthened"),
        **(secrets_met(outcome) if outcome else {}),
    }


def exported(result: Exported) -> Answer:
    return {
        **fields(result, "path", "format", "entities", "relations"),
        "bytes": result.size_bytes,
    }


def imported(result: Imported) -> Answer:
    return {
        **fields(result, "entities_created", "entities_known", "relations_created", "relations_known"),
        **secrets_met(result),
    }


def shown_doubt(each: Doubt) -> dict[str, Any]:
    return {**fields(each, "kind", "why", "ids", "names"), "score": round(each.score, 4)}


def _histogram(counts: Sequence[int]) -> dict[str, int]:
    step = 1 / len(counts)
    return {f"{bucket * step:.1f}-{(bucket + 1) * step:.1f}": count for bucket, count in enumerate(counts)}


def _first(counts: Mapping[str, int]) -> dict[str, int]:
    """The most frequent; code alone may have thousands of kinds."""
    return dict(list(counts.items())[:_MOST_TYPES])


def _name(end: object) -> str:
    return str(getattr(end, "name", end))


SHOWN = 50


def previewed(plan: Plan, items: Iterable[PlanView]) -> Answer:
    totals = plan.totals
    return {
        "mode": "preview",
        "plan_id": plan.id,
        "nodes_pruned": totals.entities,
        "edges_pruned": totals.relations,
        "details": [_detail(item, "would_delete") for item in items],
        "protected": [dict(item) for item in plan.protected],
        "message": f"Would move {amount(totals)} to the trash." if plan.item_count else "Nothing has faded away.",
    }


def executed(receipt: Receipt, items: Iterable[PlanView]) -> Answer:
    totals = receipt.totals
    left = dict(receipt.skipped)
    return {
        "mode": "executed",
        "plan_id": receipt.plan_id or "",
        "receipt_id": receipt.id,
        "nodes_pruned": totals.entities,
        "edges_pruned": totals.relations,
        "details": [_detail(item, "deleted") for item in items if item.id not in left],
        "skipped": skips(receipt.skipped),
        "message": moved_with_a_way_back(totals, receipt.id),
    }


def decayed(result: Decayed, *, dry_run: bool) -> Answer:
    return {
        "dry_run": dry_run,
        **fields(result),
        "faded": [{**fields(fact), "current": round(fact.current, 4)} for fact in result.faded],
    }


def merged(result: Merged, *, dry_run: bool) -> Answer:
    names = listed([repr(name) for name in result.merged[:5]])
    moves = f"{counted(result.mentions, 'mention')} and {counted(result.relations, 'relation')}"
    if result.joined:
        moves += f" ({result.joined:,} of them already there)"
    answer: Answer = {
        "dry_run": dry_run,
        "entity_id": result.id,
        "merged": list(result.merged),
        "mentions_moved": result.mentions,
        "relations_moved": result.relations,
        "relations_joined": result.joined,
        "message": f"Would merge {names} into {result.name!r}, with {moves}.",
        "plan_id": result.plan_id,
    }
    if not dry_run:
        answer["receipt_id"] = result.receipt_id
        undo = f"undo_prune with {result.receipt_id} takes them apart again."
        answer["message"] = f"Merged {names} into {result.name!r}, with {moves}. {undo}"
    return answer


def suggested(doubts: Iterable[Doubt]) -> Answer:
    found = sorted((doubt for doubt in doubts if doubt.kind == "near_duplicate"), key=lambda doubt: -doubt.score)
    shown = [fields(doubt, "ids", "names", "score", "why") for doubt in found[:SHOWN]]
    pairs = f"{counted(len(found), 'pair')} of entities may be the same."
    return {"dry_run": True, "message": pairs if found else "No two entities look the same.", "suggestions": shown}


def split(result: Split) -> Answer:
    moves = f"{counted(result.relations, 'relation')} and {counted(result.mentions, 'mention')}"
    answer: Answer = {
        "relations_moved": result.relations,
        "mentions_moved": result.mentions,
        "message": f"{result.name!r} would have {moves}. Nothing was moved.",
    }
    if result.receipt_id:
        answer["message"] = f"{result.name!r} now has {moves}. undo_prune with {result.receipt_id} takes it back."
        answer |= {"entity_id": result.id, "receipt_id": result.receipt_id}
    return answer


def _detail(item: PlanView, done: str) -> dict[str, Any]:
    if item.ends is None:
        return {"action": f"{done}_node", "id": item.id, "type": item.entity_type, "name": item.name}
    source, target = item.ends
    return {"action": f"{done}_edge", "id": item.id, "type": item.relation, "from": source, "to": target}


_BEGINNING = 240  # characters of a memory


def briefed(found: WorkspaceBriefing) -> Answer:
    graph = found.graph
    return {
        "workspace_id": found.stats.workspace_id,
        "summary": _summary(found),
        "memories": [_shown(each) for each in found.memories],
        "facts": [shown_edge(each, graph.names) for each in graph.recent],
        "central": [entity.name for entity, _ in graph.central],
        "contradictions": [shown_doubt(each) for each in graph.contradictory],
        "stale_facts": [shown_edge(each, graph.names) for each in graph.stale],
        "next_steps": _next_steps(found),
    }


def _summary(found: WorkspaceBriefing) -> str:
    stats, graph = found.stats, found.graph
    if not stats.total_memories and not graph.entities:
        return "Nothing is stored here yet."
    parts = [
        counted(stats.total_memories, "memory", "memories"),
        counted(graph.entities, "entity", "entities"),
        counted(graph.facts, "current fact"),
    ]
    return f"{', '.join(parts)}; {counted(stats.stale_memories, 'stale file')}."


def _shown(each: Passage) -> dict[str, Any]:
    return {
        "memory_id": each.memory_id,
        "text": clipped(" ".join(each.text.split()), _BEGINNING),
        "created_at": iso(each.created_at),
        "origin": each.origin.brief,
        **filled(each, "tags", "pinned"),
    }


def _next_steps(found: WorkspaceBriefing) -> list[str]:
    steps = []
    if found.graph.contradictory:
        steps.append("Ask which of the contradicting facts holds; graph_relate can state it in place of the others.")
    if found.graph.stale:
        steps.append("Stating a stale fact that still holds again, with graph_relate, confirms it.")
    if found.stats.stale_memories:
        steps.append("prune_memory shows what the stale files are, and can collect them.")
    return steps
