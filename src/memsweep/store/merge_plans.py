"""Plans of merges: saved and loaded alike on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memsweep.errors import Conflict
from memsweep.model.plan import Draft, PlanItem, Totals
from memsweep.store import plans
from memsweep.store.changes import Changes
from memsweep.store.plans import MERGE, Planning


def save(tx: Changes, items: Sequence[PlanItem], planning: Planning) -> None:
    """The entities that go into another one, with the relations that they take along."""
    relations = {relation for relation, *_ in tx.items.around([item.key for item in items]).relations}
    totals = Totals(entities=len(items), relations=len(relations))
    plans.save(tx, Draft(tuple(items), (), (), 0.0, 0), totals, planning)


def load(tx: Changes, plan_id: str, now: datetime) -> tuple[int, list[PlanItem]]:
    """The key and the items of a saved merge that may still be used."""
    saved, plan = plans.load(tx, plan_id)
    if plan.strategy != MERGE:
        raise Conflict(f"plan {plan_id} is one of {plan.strategy}; it merges nothing.")
    plans.refuse_unusable(plan, saved.receipt_id, now)
    items = tx.plans.items(saved.key)
    plans.refuse_altered(plan, items)
    return saved.key, items
