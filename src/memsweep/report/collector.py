"""Answers of the collector, in the words of S1 where S1 has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict

from memsweep.model.times import iso

if TYPE_CHECKING:
    from memsweep.model.audit import AuditEvent, Purged, Trashed
    from memsweep.model.plan import Plan, PlanView, Receipt, Totals, Undone, Verdict

_HOW_TO_APPLY = "Dry run complete. Set dry_run=false and confirm=true to delete."
Why = Callable[[str, Mapping[str, Any]], str]


class PruneAnswer(TypedDict):
    """A preview or a result; `dry_run` says which."""

    dry_run: bool
    strategy: str
    plan_id: str
    message: str
    nodes_to_delete: NotRequired[int]
    chunks_to_delete: NotRequired[int]
    entities_to_delete: NotRequired[int]
    relations_to_delete: NotRequired[int]
    preview: NotRequired[list[dict[str, Any]]]
    protected: NotRequired[list[dict[str, Any]]]
    warnings: NotRequired[list[str]]
    next_cursor: NotRequired[str | None]
    receipt_id: NotRequired[str]
    deleted_memories: NotRequired[int]
    deleted_chunks: NotRequired[int]
    deleted_entities: NotRequired[int]
    deleted_relations: NotRequired[int]
    skipped: NotRequired[list[dict[str, str]]]


class UndoAnswer(TypedDict):
    restored_memories: int
    restored_chunks: int
    restored_entities: int
    restored_relations: int
    restored_segments: NotRequired[int]
    conflicts: list[dict[str, str]]
    message: str


class DeletedAnswer(TypedDict):
    receipt_id: str
    deleted_memories: int
    deleted_chunks: int
    deleted_entities: int
    deleted_relations: int
    message: str


class ClearedAnswer(DeletedAnswer):
    deleted_segments: int


class TrashAnswer(TypedDict):
    items: list[dict[str, Any]]
    total: int
    next_cursor: str | None


class PurgeAnswer(TypedDict):
    receipts: list[str]
    purged_memories: int
    purged_chunks: int
    purged_entities: int
    purged_relations: int
    purged_segments: NotRequired[int]
    purged_workspaces: int
    kept_workspaces: int
    message: str


class PinAnswer(TypedDict):
    id: str
    type: str
    pinned: bool


class AuditAnswer(TypedDict):
    events: list[dict[str, Any]]


class ExplainAnswer(TypedDict):
    id: str
    type: str
    alive: bool
    because: list[str]
    garbage_for: list[dict[str, str]]
    path: list[dict[str, str | None]]
    history: list[dict[str, Any]]


def explained(verdict: Verdict, path: Sequence[PlanView], history: Iterable[AuditEvent]) -> ExplainAnswer:
    return {
        "id": verdict.id,
        "type": verdict.kind.capitalize(),
        "alive": verdict.alive,
        "because": list(verdict.because),
        "garbage_for": [{"strategy": strategy, "why": reason} for strategy, reason in verdict.garbage_for],
        "path": [{"id": step.id, "name": step.name, "entity_type": step.entity_type} for step in path],
        "history": audited(history)["events"],
    }


def previewed(plan: Plan, items: Sequence[PlanView], why: Why, next_cursor: str | None) -> PruneAnswer:
    return {
        "dry_run": True,
        "strategy": plan.strategy,
        "plan_id": plan.id,
        "nodes_to_delete": plan.totals.memories,
        "chunks_to_delete": plan.totals.chunks,
        "entities_to_delete": plan.totals.entities,
        "relations_to_delete": plan.totals.relations,
        "preview": [_item(item, why) for item in items],
        "protected": [dict(item) for item in plan.protected],
        "warnings": list(plan.warnings),
        "message": _HOW_TO_APPLY,
        "next_cursor": next_cursor,
    }


def applied(receipt: Receipt) -> PruneAnswer:
    return {
        "dry_run": False,
        "strategy": receipt.strategy,
        "plan_id": receipt.plan_id or "",
        "receipt_id": receipt.id,
        "deleted_memories": receipt.totals.memories,
        "deleted_chunks": receipt.totals.chunks,
        "deleted_entities": receipt.totals.entities,
        "deleted_relations": receipt.totals.relations,
        "skipped": [{"id": uid, "reason": reason} for uid, reason in receipt.skipped],
        "message": _deleted(receipt.strategy, receipt.totals, len(receipt.skipped)),
    }


def deleted(receipt: Receipt, *, forever: bool = False) -> DeletedAnswer:
    totals = receipt.totals
    how = "gone for good" if forever else f"in the trash; undo_prune with {receipt.id} brings it back"
    return {
        "receipt_id": receipt.id,
        "deleted_memories": totals.memories,
        "deleted_chunks": totals.chunks,
        "deleted_entities": totals.entities,
        "deleted_relations": totals.relations,
        "message": f"{_count(totals.memories, 'memory', 'memories')}{_and_segments(totals.segments)} {how}.",
    }


def cleared(receipt: Receipt) -> ClearedAnswer:
    return {**deleted(receipt), "deleted_segments": receipt.totals.segments}


def undone(result: Undone) -> UndoAnswer:
    totals = result.totals
    left = f"; {len(result.conflicts)} left alone because of conflicts" if result.conflicts else ""
    back = f"{_count(totals.memories, 'memory', 'memories')} and {totals.chunks} chunks{_and_segments(totals.segments)}"
    answer: UndoAnswer = {
        "restored_memories": totals.memories,
        "restored_chunks": totals.chunks,
        "restored_entities": totals.entities,
        "restored_relations": totals.relations,
        "conflicts": [{"id": uid, "reason": reason} for uid, reason in result.conflicts],
        "message": f"Restored {back}{left}.",
    }
    if totals.segments:
        answer["restored_segments"] = totals.segments
    return answer


def trashed(items: Iterable[Trashed], total: int, purge_days: float, next_cursor: str | None) -> TrashAnswer:
    def shown(item: Trashed) -> dict[str, Any]:
        return {
            "id": item.id,
            "type": item.kind.capitalize(),
            "name": item.name,
            "reason": item.reason,
            "receipt_id": item.receipt_id,
            "trashed_at": iso(item.trashed_at),
            "kept_until": iso(_later(item.trashed_at, purge_days)),
        }

    return {"items": [shown(item) for item in items], "total": total, "next_cursor": next_cursor}


def purged(result: Purged, workspaces: int = 0, kept: int = 0) -> PurgeAnswer:
    """`kept`: deleted workspaces of that age that were not freed."""
    gone = f"{_count(result.memories, 'memory', 'memories')} and {result.chunks} chunks{_and_segments(result.segments)}"
    answer: PurgeAnswer = {
        "receipts": list(result.receipts),
        "purged_memories": result.memories,
        "purged_chunks": result.chunks,
        "purged_entities": result.entities,
        "purged_relations": result.relations,
        "purged_workspaces": workspaces,
        "kept_workspaces": kept,
        "message": f"Freed {gone}{_and_workspaces(workspaces)} for good.{_still_kept(kept)}",
    }
    if result.segments:
        answer["purged_segments"] = result.segments
    return answer


def audited(events: Iterable[AuditEvent]) -> AuditAnswer:
    def shown(event: AuditEvent) -> dict[str, Any]:
        return {
            "at": iso(event.at),
            "actor": event.actor,
            "action": event.action,
            "subject": event.subject,
            "counts": dict(event.counts),
            "reason": event.reason,
        }

    return {"events": [shown(event) for event in events]}


def _item(item: PlanView, why: Why) -> dict[str, Any]:
    return {
        "id": item.id,
        "type": item.kind.capitalize(),
        "file_path": item.file_path,
        "relative_path": item.relative_path,
        "name": item.name,
        "created_at": iso(item.created_at) if item.created_at else None,
        "chunk_count": item.chunk_count,
        "text_length": item.text_length,
        "entity_type": item.entity_type,
        "reason": item.reason,
        "why": why(item.reason, item.evidence),
    }


def _deleted(strategy: str, totals: Totals, skipped: int) -> str:
    match strategy:
        case "stale_code" | "stale_files":
            text = f"Successfully deleted {totals.memories} stale memory nodes and {totals.chunks} chunks."
        case "orphaned_chunks":
            text = f"Successfully deleted {totals.chunks} orphaned chunks."
        case "orphaned_entities":
            text = f"Successfully deleted {totals.entities} orphaned entities."
        case _:
            text = (
                f"Successfully deleted {totals.memories} memories, {totals.chunks} chunks,"
                f" and {totals.entities} entities."
            )
    return f"{text} Skipped {skipped} that changed since the plan." if skipped else text


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _and_segments(number: int) -> str:
    return f", {_count(number, 'segment', 'segments')}" if number else ""


def _and_workspaces(number: int) -> str:
    return f", and {_count(number, 'deleted workspace', 'deleted workspaces')}" if number else ""


def _still_kept(number: int) -> str:
    if not number:
        return ""
    were = "deleted workspace of that age was" if number == 1 else "deleted workspaces of that age were"
    return f" {number:,} {were} kept; only --deleted-workspaces (deleted_workspaces=true) frees them."


def _later(moment: datetime, days: float) -> datetime:
    return moment + timedelta(days=days)
