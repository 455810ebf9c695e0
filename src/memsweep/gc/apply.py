"""Apply: what was selected goes to the trash under a receipt, whole, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from memsweep.gc.planner import capped_by_plan, check_cap
from memsweep.gc.selection import Selected, planned_totals, select
from memsweep.model.audit import AuditEvent
from memsweep.model.plan import Draft, Receipt, Selection, Totals, counts_of
from memsweep.store import plans
from memsweep.store.changes import Changes, NewReceipt
from memsweep.store.plans import Planning
from memsweep.store.ports.tombstones import NewTombstone

_PLURALS = {"memory": "memories", "entity": "entities", "relation": "relations"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that the collector does: what, in whose name and when, and the ids that it gets."""

    action: str
    strategy: str
    plan_id: str
    receipt_id: str
    actor: str
    now: datetime

    def receipt(self, totals: Totals, skipped: Sequence[tuple[str, str]]) -> NewReceipt:
        return NewReceipt(
            id=self.receipt_id,
            action=self.action,
            strategy=self.strategy,
            actor=self.actor,
            created_at=self.now,
            plan_id=self.plan_id,
            totals=totals,
            skipped=tuple(skipped),
        )


@dataclass(frozen=True, slots=True)
class Moved:
    """What an operation has moved to the trash, and the receipt of it with its key."""

    going: Selection
    made: NewReceipt
    key: int

    @property
    def receipt(self) -> Receipt:
        made = self.made
        return Receipt(made.id, made.plan_id, made.strategy, made.totals, tuple(made.skipped), made.created_at)


def apply_at_once(
    tx: Changes,
    draft: Draft,
    operation: Operation,
    *,
    kept: Mapping[int, str] = MappingProxyType({}),
    segments: Sequence[tuple[int, int]] = (),
    allow_large: bool = True,
) -> Moved:
    """Save a plan and use it, in the transaction in which it was made."""
    selected = select(tx.items, draft.items, kept)
    if not allow_large:
        check_caps(tx, selected.going, operation.strategy)
    planning = Planning(operation.plan_id, operation.strategy, operation.now)
    plan, _ = plans.save(tx, draft, planned_totals(tx.items, draft.items), planning)
    return move(tx, selected, plan, operation, segments)


def check_caps(tx: Changes, going: Selection, strategy: str) -> None:
    kinds = capped_by_plan(strategy)
    there, removed = tx.items.count(kinds), going.totals
    counts = {"memory": removed.memories, "entity": removed.entities, "relation": removed.relations}
    for kind in kinds:
        check_cap(counts[kind], there[kind], _PLURALS[kind])


def move(
    tx: Changes,
    selected: Selected,
    plan: int,
    operation: Operation,
    segments: Sequence[tuple[int, int]] = (),
) -> Moved:
    """Everything that goes to the trash, under a new receipt."""
    made = operation.receipt(replace(selected.going.totals, segments=len(segments)), selected.skipped)
    key = tx.receipts.add(made)
    tx.items.trash(selected.going, key)
    tx.segments.trash(segments, key)
    tx.plans.use(plan, key)
    counts = counts_of(made.totals, segments=True)
    tx.audit(AuditEvent(made.created_at, made.actor, made.action, made.id, counts, made.strategy))
    for item_id, reason in made.skipped:
        tx.audit(AuditEvent(made.created_at, made.actor, "skip", item_id, reason=reason))
    return Moved(selected.going, made, key)


def forget(tx: Changes, moved: Moved, hashes: Sequence[tuple[str, bytes]], operation: Operation) -> None:
    """Free what was moved at once, and keep a hash of it, so that it is not learned again."""
    now = operation.now
    tx.tombstones.add([NewTombstone(digest, now, uid, "deleted forever") for uid, digest in hashes])
    tx.free(moved.going, moved.made, moved.key)
    tx.audit(AuditEvent(now, operation.actor, "purge", operation.receipt_id))
