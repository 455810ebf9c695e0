"""Answers about facts that fade and entities that are merged.

`nodes_pruned`, `would_delete_node` and the like are the names of the first design of `graph_prune`, which agents know.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from memsweep.model.text import counted, listed
from memsweep.report.counts import amount, moved_with_a_way_back
from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.graph import Decayed, Doubt, Merged, Split
    from memsweep.model.plan import Plan, PlanView, Receipt

SHOWN = 50


class GraphPruneAnswer(TypedDict):
    mode: Literal["preview", "executed"]
    plan_id: str
    nodes_pruned: int
    edges_pruned: int
    details: list[dict[str, Any]]
    """The first of them."""
    message: str
    protected: NotRequired[list[dict[str, Any]]]
    receipt_id: NotRequired[str]
    skipped: NotRequired[list[dict[str, str]]]


class DecayAnswer(TypedDict):
    dry_run: bool
    entities: int
    relations: int
    entities_below: int
    relations_below: int
    faded: list[dict[str, Any]]


class MergeAnswer(TypedDict):
    dry_run: bool
    message: str
    entity_id: NotRequired[str]
    plan_id: NotRequired[str]
    receipt_id: NotRequired[str]
    merged: NotRequired[list[str]]
    mentions_moved: NotRequired[int]
    relations_moved: NotRequired[int]
    relations_joined: NotRequired[int]
    suggestions: NotRequired[list[dict[str, Any]]]


class SplitAnswer(TypedDict):
    relations_moved: int
    mentions_moved: int
    message: str
    entity_id: NotRequired[str]
    receipt_id: NotRequired[str]


def previewed(plan: Plan, items: Iterable[PlanView]) -> GraphPruneAnswer:
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


def executed(receipt: Receipt, items: Iterable[PlanView]) -> GraphPruneAnswer:
    totals = receipt.totals
    left = dict(receipt.skipped)
    return {
        "mode": "executed",
        "plan_id": receipt.plan_id or "",
        "receipt_id": receipt.id,
        "nodes_pruned": totals.entities,
        "edges_pruned": totals.relations,
        "details": [_detail(item, "deleted") for item in items if item.id not in left],
        "skipped": [{"id": uid, "reason": reason} for uid, reason in receipt.skipped],
        "message": moved_with_a_way_back(totals, receipt.id),
    }


def decayed(result: Decayed, *, dry_run: bool) -> DecayAnswer:
    return {
        "dry_run": dry_run,
        "entities": result.entities,
        "relations": result.relations,
        "entities_below": result.entities_below,
        "relations_below": result.relations_below,
        "faded": [
            {"id": fact.id, "name": fact.name, "type": fact.type, "base": fact.base, "current": round(fact.current, 4)}
            for fact in result.faded
        ],
    }


def merged(result: Merged, *, dry_run: bool) -> MergeAnswer:
    names = listed([repr(name) for name in result.merged[:5]])
    moves = f"{counted(result.mentions, 'mention')} and {counted(result.relations, 'relation')}"
    if result.joined:
        moves += f" ({result.joined:,} of them already there)"
    answer: MergeAnswer = {
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


def suggested(doubts: Iterable[Doubt]) -> MergeAnswer:
    found = sorted((doubt for doubt in doubts if doubt.kind == "near_duplicate"), key=lambda doubt: -doubt.score)
    shown = [
        {"ids": list(doubt.ids), "names": list(doubt.names), "score": doubt.score, "why": doubt.why}
        for doubt in found[:SHOWN]
    ]
    pairs = f"{counted(len(found), 'pair')} of entities may be the same."
    return {"dry_run": True, "message": pairs if found else "No two entities look the same.", "suggestions": shown}


def split(result: Split) -> SplitAnswer:
    moves = f"{counted(result.relations, 'relation')} and {counted(result.mentions, 'mention')}"
    answer: SplitAnswer = {
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
