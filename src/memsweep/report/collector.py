"""Answers of the collector.

The messages and warnings of `prune_memory` begin with sentences that agents and scripts know from the tool's first
design, word for word; a second sentence says what happened. Every other answer is in our own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from memsweep.model.plan import counts_of
from memsweep.model.strategies import SECRETS
from memsweep.model.text import counted, listed
from memsweep.model.times import from_micros, iso
from memsweep.report import (
    Answer,
    amount,
    as_json,
    fields,
    filled,
    is_one,
    memory,
    moved,
    moved_with_a_way_back,
    restored,
    skips,
    stayed,
    way_back,
)
from memsweep.report.memory import deleted_workspaces, masked

if TYPE_CHECKING:
    from memsweep.model.audit import AuditEvent, Purged, Trashed, TrashPage
    from memsweep.model.plan import (
        Deleted,
        Plan,
        PlanDifference,
        PlanGroup,
        PlanGroups,
        PlanView,
        Preview,
        Receipt,
        ReceiptDetails,
        ReceiptPage,
        TextComparison,
        Totals,
        Undone,
        Verdict,
    )


_SENTENCES = {
    "stale_file": "Its file is no longer in the indexed folder.",
    "missing_file": "Its file does not exist on disk.",
    "orphaned_chunk": "It belongs to no memory.",
    "orphaned_entity": "Nothing mentions it and nothing is related to it.",
    "unreachable_entity": "No mention, pin or explicit fact keeps it or anything connected to it alive.",
    "left_without_root": "Only items in this plan keep it alive.",
    "faded_entity": "It has faded away: nothing mentions it, nothing is related to it, and nobody confirmed it.",
    "orphan_not_seen": "Nothing mentions it, nothing live is related to it, and it has not been seen for a long time.",
    "empty_memory": "It has no chunks, so no search can find it.",
    "deleted": "Somebody asked for its deletion.",
    "brought": "What is to be taken back brought it, and nothing else.",
    "stays_without": "Others say it, too: it stays, without what is taken back.",
    "earlier_text": "It stays and gets back the text that it had before.",
    "in_trash": "It is in the trash: should it come back, then without what is taken back.",
    "current_again": "It is current again: whoever said that another one supersedes it is taken back.",
    "holds_again": "It holds again: what ended it is taken back.",
    "cleared": "Somebody asked to clear the whole workspace.",
}


def why(reason: str, evidence: Mapping[str, Any]) -> str:
    match reason:
        case "expired":
            return f"It expired at {_moment(evidence['expires_at'])}."
        case "not_seen":
            return (
                f"It was last seen at {_moment(evidence['last_seen_at'])}, more than {evidence['ttl_days']:g} days ago."
            )
        case "faded_relation":
            return f"It weighs {evidence['weight']:g} now: nobody has confirmed it for a long time."
        case "secret":
            return (
                f"It holds {'a secret' if len(evidence['secrets']) == 1 else 'secrets'}: {listed(evidence['secrets'])}."
            )
        case "superseded":
            return f"Another fact has replaced it since {_moment(evidence['invalid_at'])}."
        case "superseded_memory":
            return f"{evidence['superseded_by']} has superseded it since {_moment(evidence['superseded_at'])}."
        case "falls_back":
            return f"It stays and falls back from {_weight(evidence['from'])} to {_weight(evidence['to'])}."
        case "duplicate":
            return f"It says the same as {evidence['kept']}, which is kept."
        case "near_duplicate":
            return f"It says nearly the same as {evidence['kept']}, which is kept."
    return _SENTENCES.get(reason, reason)


def _weight(value: float | None) -> str:
    return "an unknown weight" if value is None else f"{value:.2f}"


def _moment(micros: int) -> str:
    return iso(from_micros(micros))


_HOW_TO_APPLY = (
    "Dry run complete. Set dry_run=false and confirm=true to delete."
    " With this plan_id as well, exactly this plan is applied; everything goes to the trash first."
)
_YOUNG = re.compile(r"(\d+) nodes are less than 24h old")
_DEFAULT_WORKSPACE = "WARNING: Deleting from default workspace"
_MAY_BE_IN_USE = "Items this new may still be in use; check them before you remove them."
_SHOWN_NAMES = 5
_SHARED = "Clients that neither name nor configure a workspace share it."
Why = Callable[[str, Mapping[str, Any]], str]


def explained(verdict: Verdict, path: Sequence[PlanView], history: Iterable[AuditEvent]) -> Answer:
    return {
        "id": verdict.id,
        "type": verdict.kind.capitalize(),
        **fields(verdict, "alive", "because"),
        "garbage_for": [{"strategy": strategy, "why": reason} for strategy, reason in verdict.garbage_for],
        "path": [fields(step, "id", "name", "entity_type") for step in path],
        "history": audited(history)["events"],
    }


def previewed(plan: Plan, items: Sequence[PlanView], why: Why, next_cursor: str | None) -> Answer:
    """Return the answer of `prune_memory` to a dry run."""
    warnings = [f"{said}. {more}" if (more := _why_it_matters(said)) else said for said in plan.warnings]
    return {**planned(plan, items, why, next_cursor), "message": _HOW_TO_APPLY, "warnings": warnings}


def planned(plan: Plan, items: Sequence[PlanView], why: Why, next_cursor: str | None) -> Answer:
    """A plan as everybody else sees it."""
    return {
        "dry_run": True,
        "strategy": plan.strategy,
        "plan_id": plan.id,
        "nodes_to_delete": plan.totals.memories,
        **_numbers("{}_to_delete", plan.totals, "chunks", "entities", "relations"),
        "preview": [item(each, why) for each in items],
        "protected": [dict(item) for item in plan.protected],
        "warnings": [warning(said) for said in plan.warnings],
        "message": memory.would(plan),
        "next_cursor": next_cursor,
    }


def pruned(receipt: Receipt) -> Answer:
    """Return the answer of `prune_memory` after it removed something."""
    if receipt.strategy == SECRETS:
        return applied(receipt)
    where = f"{'It is' if is_one(receipt.totals) else 'They are'} in the trash; {way_back(receipt.totals, receipt.id)}."
    ours = where if amount(receipt.totals) else "There was nothing to remove."
    ours += stayed(receipt.changed, receipt.id) + _left_alone(receipt)
    return {**applied(receipt), "message": f"{_deleted(receipt.strategy, receipt.totals)} {ours}"}


def applied(receipt: Receipt) -> Answer:
    """Return the answer about a removal, in the form that all doors share."""
    what = memory.done(receipt) if receipt.strategy == SECRETS else moved(receipt.totals)
    return {
        "dry_run": False,
        "strategy": receipt.strategy,
        "plan_id": receipt.plan_id or "",
        "receipt_id": receipt.id,
        **_numbers("deleted_{}", receipt.totals),
        "skipped": skips(receipt.skipped),
        "message": f"{what}{stayed(receipt.changed, receipt.id)}{_left_alone(receipt)}",
    }


def deleted(receipt: Deleted, *, forever: bool = False) -> Answer:
    removed = _removed(receipt, forever=forever)
    parts = (removed["message"], _gone_and_kept(receipt), *receipt.notes)
    return {
        **removed,
        "message": " ".join(part for part in parts if part),
        "removed_with_it": [{"name": memory.masked(name), "id": uid} for name, uid in receipt.gone],
        "kept": [{"name": memory.masked(name), "id": uid} for name, uid in receipt.kept],
        "notes": list(receipt.notes),
    }


def _gone_and_kept(receipt: Deleted) -> str:
    gone, kept = (_some_names(each) for each in (receipt.gone, receipt.kept))
    parts = [f"With it went {gone}." if gone else "", f"Others state {kept}, so that stays." if kept else ""]
    return " ".join(part for part in parts if part)


def _some_names(named: Sequence[tuple[str, str]]) -> str:
    names = [repr(memory.masked(name)) for name, _ in named[:_SHOWN_NAMES]]
    more = len(named) - len(names)
    return listed([*names, f"{more:,} more"] if more else names) if names else ""


def _removed(receipt: Receipt, *, forever: bool = False) -> Answer:
    totals = receipt.totals
    return {
        "receipt_id": receipt.id,
        **_numbers("deleted_{}", totals),
        "message": f"Permanently deleted {amount(totals)}." if forever else moved_with_a_way_back(totals, receipt.id),
    }


def cleared(receipt: Receipt) -> Answer:
    return {**_removed(receipt), "deleted_segments": receipt.totals.segments}


def undone(result: Undone) -> Answer:
    totals = result.totals
    left = f" {len(result.conflicts):,} left alone because of conflicts." if result.conflicts else ""
    answer: Answer = {
        **_numbers("restored_{}", totals),
        "conflicts": skips(result.conflicts),
        "message": restored(totals, result.given_back) + _summaries_out(result) + _changed_back(result) + left,
    }
    if totals.segments:
        answer["restored_segments"] = totals.segments
    if result.receipt_id:
        answer["receipt_id"] = result.receipt_id
    if result.summaries:
        answer["removed_summaries"] = list(result.summaries)
    return answer


def _changed_back(result: Undone) -> str:
    if not result.changed_back:
        return ""
    return f" undo_prune with {result.receipt_id} brings back what was there until now."


def _summaries_out(result: Undone) -> str:
    number = len(result.summaries)
    if not number:
        return ""
    what, them = ("summary", "it") if number == 1 else ("summaries", "them")
    return f" Moved the {what} of them to the trash; undo_prune with {result.receipt_id} brings {them} back."


def trashed(page: TrashPage, purge_days: float, next_cursor: str | None) -> Answer:
    def shown(item: Trashed) -> dict[str, Any]:
        return {
            "id": item.id,
            "type": item.kind.capitalize(),
            "name": item.name and memory.masked(item.name),
            **({"path": item.path} if item.path else {}),
            "reason": item.reason,
            "receipt_id": item.receipt_id,
            "trashed_at": iso(item.trashed_at),
            "kept_until": iso(item.trashed_at + timedelta(days=purge_days)),
        }

    return {
        "items": [shown(item) for item in page.items],
        "total": page.total,
        "next_cursor": next_cursor,
        "deleted_workspaces": deleted_workspaces(page.deleted, page.in_use, purge_days),
    }


def purged(result: Purged, workspaces: int = 0, kept: int = 0) -> Answer:
    """`kept`: deleted workspaces of that age that were not freed."""
    gone = amount(result, workspaces=workspaces, revisions=result.revisions)
    answer: Answer = {
        "receipts": list(result.receipts),
        **_numbers("purged_{}", result),
        "purged_workspaces": workspaces,
        "kept_workspaces": kept,
        "message": (f"Permanently deleted {gone}." if gone else "Nothing in the trash is that old.")
        + _still_kept(kept),
    }
    if result.segments:
        answer["purged_segments"] = result.segments
    if result.revisions:
        answer["purged_revisions"] = result.revisions
    if result.notes:
        answer["notes"] = list(result.notes)
        answer["message"] = " ".join((answer["message"], *result.notes))
    return answer


def pinned(item_id: str, kind: str, *, pinned: bool) -> Answer:
    return {"id": item_id, "type": kind.capitalize(), "pinned": pinned}


def audited(events: Iterable[AuditEvent]) -> Answer:
    def shown(event: AuditEvent) -> dict[str, Any]:
        return fields(event, "at", "actor", "action", "subject", "counts", "reason")

    return {"events": [shown(event) for event in events]}


def item(item: PlanView, why: Why) -> dict[str, Any]:
    """One item of a plan."""
    return {
        "id": item.id,
        "type": item.kind.capitalize(),
        **fields(item, "file_path", "relative_path", "name", "created_at", "chunk_count", "text_length"),
        **fields(item, "entity_type", "reason"),
        "why": why(item.reason, item.evidence),
        **(_beside(item.beside) if item.beside else {}),
    }


def _beside(both: TextComparison) -> dict[str, Any]:
    differs = [{"text": mine, "kept_text": kept} for mine, kept in both.differs]
    return {**fields(both, "text", "kept_text"), "differs": differs}


def _deleted(strategy: str, totals: Totals) -> str:
    match strategy:
        case "stale_code" | "stale_files":
            return f"Successfully deleted {totals.memories} stale memory nodes and {totals.chunks} chunks."
        case "orphaned_chunks":
            return f"Successfully deleted {totals.chunks} orphaned chunks."
        case "orphaned_entities":
            return f"Successfully deleted {totals.entities} orphaned entities."
    return f"Successfully deleted {totals.memories} memories, {totals.chunks} chunks, and {totals.entities} entities."


def _left_alone(receipt: Receipt) -> str:
    number = len(receipt.skipped)
    return f" Skipped {counted(number, 'item')} that changed after the plan was made." if number else ""


def warning(said: str) -> str:
    """A warning of the planner in our own words."""
    if young := _YOUNG.fullmatch(said):
        number = int(young[1])
        return f"{counted(number, 'item')} {'is' if number == 1 else 'are'} less than 24 hours old. {_MAY_BE_IN_USE}"
    return f"This is the default workspace. {_SHARED}" if said == _DEFAULT_WORKSPACE else said


def _why_it_matters(said: str) -> str:
    if _YOUNG.fullmatch(said):
        return _MAY_BE_IN_USE
    return _SHARED if said == _DEFAULT_WORKSPACE else ""


def _still_kept(number: int) -> str:
    if not number:
        return ""
    were = "deleted workspace of that age was" if number == 1 else "deleted workspaces of that age were"
    return f" {number:,} {were} kept; pass deleted_workspaces=true to purge {'it' if number == 1 else 'them'} too."


def groups(found: PlanGroups, next_cursor: str | None) -> Answer:
    return {
        "groups": [_group(each) for each in found.groups],
        "total": found.total,
        "folders": as_json(found.folders),
        "next_cursor": next_cursor,
    }


def previews(found: Iterable[Preview]) -> Answer:
    return {
        "strategies": [
            {
                "strategy": each.strategy,
                **counts_of(each.totals),
                **fields(each, "item_count", "protected", "share", "workspace_memories"),
                "groups": [_group(group) for group in each.groups],
                "warnings": [warning(said) for said in each.warnings],
                "problem": each.problem,
            }
            for each in found
        ]
    }


def difference(found: PlanDifference) -> Answer:
    counts = fields(found, "added_count", "gone_count", "same_count")
    return {"added": _items(found.added), "gone": _items(found.gone), **counts}


def _group(group: PlanGroup) -> dict[str, Any]:
    first = [{"id": view.id, "type": view.kind.capitalize(), "name": view.name} for view in group.first]
    return {**_item(group.root), "folder": group.folder, "followers": group.followers, "first": first}


def _items(views: Sequence[PlanView]) -> list[dict[str, Any]]:
    return [_item(view) for view in views]


def _item(view: PlanView) -> dict[str, Any]:
    """With what it begins with masked: who looks at a plan need not see a secret."""
    shown = item(view, why)
    return {**shown, "name": shown["name"] and masked(shown["name"])}


_HELD = ("memories", "chunks", "entities", "relations", "segments", "revisions", "stashed")


def receipts(page: ReceiptPage) -> Answer:
    return {"receipts": [_receipt(each) for each in page.receipts], "next_cursor": page.next_cursor}


def _receipt(each: ReceiptDetails) -> dict[str, Any]:
    return {
        "receipt_id": each.id,
        **fields(each, "plan_id", "state", "action", "strategy", "actor"),
        "at": iso(each.created_at),
        "moved": counts_of(each.totals),
        **fields(each, "skipped", "undone_at", "purged_at"),
        "held": filled(each.held, *_HELD),
        "bytes": each.bytes,
        "days_left": None if each.days_left is None else round(each.days_left, 1),
    }


def _numbers(name: str, totals: object, *kinds: str) -> Answer:
    """Return the counts of these kinds, by default of all that every workspace has, under such names."""
    numbers = fields(totals, *(kinds or ("memories", "chunks", "entities", "relations")))
    return {name.format(kind): number for kind, number in numbers.items()}
