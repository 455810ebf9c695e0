"""Apply: what was selected goes to the trash under a receipt, whole, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from memsweep.gc.earlier_texts import Embed, no_model
from memsweep.gc.planner import capped_by_plan, refuse_over_cap
from memsweep.gc.purge import Freeing, close
from memsweep.gc.retraction import Retraction
from memsweep.gc.selection import Selected, ids_of, planned_totals, select
from memsweep.gc.staying import Staying
from memsweep.model.operation import Operation
from memsweep.model.plan import PlanDraft, Receipt, Totals
from memsweep.model.selection import Selection
from memsweep.store import plans
from memsweep.store.changes import Changes
from memsweep.store.plans import Planning
from memsweep.store.ports.receipts import NewReceipt, ReceiptRow
from memsweep.store.ports.tombstones import NewTombstone

Check = Callable[[Changes, Selection], None]
"""Refuses what would go too far, before anything moves."""


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that the collector takes away: what it is called, by whom and when, and the ids that it gets."""

    action: str
    strategy: str
    plan_id: str
    receipt_id: str
    by: Operation
    embed: Embed = no_model

    def receipt(self, totals: Totals, skipped: Sequence[tuple[str, str]]) -> NewReceipt:
        return NewReceipt(
            id=self.receipt_id,
            action=self.action,
            strategy=self.strategy,
            actor=self.by.actor,
            created_at=self.by.now,
            plan_id=self.plan_id,
            totals=totals,
            skipped=tuple(skipped),
        )


class Moved(NamedTuple):
    """The receipt of what was moved to the trash, and its key."""

    made: NewReceipt
    key: int
    changed: Totals

    @property
    def receipt(self) -> Receipt:
        made = self.made
        said = (made.id, made.plan_id, made.strategy, made.totals, tuple(made.skipped), made.created_at)
        return Receipt(*said, self.changed)

    @property
    def row(self) -> ReceiptRow:
        return ReceiptRow(self.key, self.made.id, self.made.plan_id, None, None)


def apply_at_once(
    tx: Changes,
    draft: PlanDraft,
    removal: Removal,
    *,
    kept: Mapping[int, str] = MappingProxyType({}),
    segments: Sequence[tuple[int, int]] = (),
    check: Check | None = None,
    forever: bool = False,
) -> Receipt:
    """Save a plan and use it, in the transaction in which it was made; `forever` frees at once what was moved."""
    selected = select(tx.items, draft.items, kept)
    if check is not None:
        check(tx, selected.going)
    forgetting = _Forgetting(tx, selected.going) if forever else None
    beside = OtherChanges(tx, selected, removal, segments)
    planning = Planning(removal.plan_id, removal.strategy, removal.by.now)
    plan, _ = plans.save(tx, draft, planned_totals(tx.items, draft.items), planning)
    moved = move(tx, selected, plan, removal, beside)
    if forgetting is not None:
        forgetting.write(tx, moved.row, removal.by)
    return moved.receipt


def check_caps(strategy: str, tx: Changes, going: Selection) -> None:
    kinds = capped_by_plan(strategy)
    refuse_over_cap(going.totals, tx.items.count(kinds), kinds)


def move(tx: Changes, selected: Selected, plan: int, removal: Removal, beside: OtherChanges) -> Moved:
    """Everything that goes to the trash, under a new receipt."""
    skipped = (*selected.skipped, *beside.staying.skipped, *beside.retraction.skipped)
    made = removal.receipt(replace(selected.going.totals, segments=len(beside.segments)), skipped)
    key = tx.receipts.add(made)
    tx.items.trash(selected.going, key)
    tx.segments.trash(beside.segments, key)
    beside.retraction.write(tx, key)
    beside.staying.write(tx, key)
    tx.plans.use(plan, key)
    tx.audit(removal.by.counted(made.action, made.id, made.totals, made.strategy, (*selected.ids, *beside.staying.ids)))
    for item_id, reason in made.skipped:
        tx.audit(removal.by.event("skip", item_id, reason=reason))
    return Moved(made, key, Totals(memories=len(beside.staying.ids), relations=beside.retraction.count))


class OtherChanges:
    """What goes or changes beside memories and the graph, read before anything is written."""

    def __init__(
        self, tx: Changes, selected: Selected, removal: Removal, segments: Sequence[tuple[int, int]] = ()
    ) -> None:
        # Those of a plan that nobody has pinned or taken out since.
        there = set(tx.segments.unpinned()) if selected.segments else set()
        self.segments = [*segments, *(each for each in selected.segments if each in there)]
        changes, going, retracted = selected.changes, selected.going, selected.retracted
        self.retraction = Retraction(tx, changes, going.relations, retracted)
        self.staying = Staying(tx, changes, removal.by, removal.embed, going.memories, retracted)


class _Forgetting:
    """Frees what goes to the trash at once, and keeps a hash of it, so that it is not learned again."""

    def __init__(self, tx: Changes, going: Selection) -> None:
        self._freeing = Freeing(tx, going)
        self._ids = ids_of(tx.items, self._freeing.gone.memories, self._freeing.gone.entities)
        self._hashes = tx.items.hashes(going.memories)

    def write(self, tx: Changes, receipt: ReceiptRow, by: Operation) -> None:
        tx.tombstones.add([NewTombstone(digest, by.now, uid, "deleted forever") for uid, digest in self._hashes])
        self._freeing.write(tx)
        close(tx, [receipt], by, {receipt.key: self._ids})
