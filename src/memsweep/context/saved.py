"""Plans of a context window: saved and loaded as all plans are, and used by that window only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from memsweep.context.choosing import plan_item
from memsweep.context.plan import PruningPlan
from memsweep.context.receipts import Acting
from memsweep.model.plan import PlanDraft, PlanItem, Totals
from memsweep.model.window import Held
from memsweep.store import plans
from memsweep.store.plans import CONTEXT, Planning
from memsweep.store.ports.windows import OpenWindow


def save_plan(window: OpenWindow, items: Sequence[PlanItem], plan_id: str, now: datetime, lifetime: timedelta) -> None:
    planning = Planning(plan_id, f"{CONTEXT}{window.project_id}", now, lifetime)
    plans.save(window, PlanDraft(tuple(items), (), (), 0.0, 0), Totals(), planning)


def save_analysis(
    window: OpenWindow, acting: Acting, plan: PruningPlan, plan_id: str, rows: Mapping[str, Held], lifetime: timedelta
) -> None:
    """What an analysis found, with an event of the log."""
    items = [plan_item(candidate, rows[candidate.segment_id]) for candidate in plan.candidates]
    save_plan(window, items, plan_id, acting.now, lifetime)
    counts = {"segments": len(items), "tokens": plan.total_tokens_freed}
    window.audit("plan", plan_id, counts, f"context:{window.project_id}", acting.actor, acting.now)


def load_plan(window: OpenWindow, plan_id: str, now: datetime) -> tuple[int, dict[str, PlanItem]]:
    """The key, and the items by the ids of their segments; used, old, altered and foreign plans are refused."""
    saved, plan = plans.load(window, plan_id, window.project_id)
    plans.refuse_unusable(plan, saved.receipt_id, now, window.project_id)
    items = window.plans.items(saved.key)
    plans.refuse_altered(plan, items, window.project_id)
    ids = window.items.ids({"segment": [item.key for item in items]})
    return saved.key, {uid: item for item in items if (uid := ids.get(("segment", item.key)))}
