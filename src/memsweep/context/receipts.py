"""Move segments out of a durable window with a receipt and a line in the audit log; save its plans."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memsweep.context.choosing import plan_item
from memsweep.context.plan import PruningPlan
from memsweep.context.steps import Leaving, Left, gone
from memsweep.context.transcripts import SessionCompaction
from memsweep.model.plan import PlanDraft, PlanItem, Totals
from memsweep.model.text import counted
from memsweep.model.window import StoredSegment
from memsweep.store import plans
from memsweep.store.plans import CONTEXT, Planning
from memsweep.store.windows import OpenWindow


@dataclass(frozen=True, slots=True)
class Acting:
    """The actor, and the time."""

    actor: str
    now: datetime
    new_id: Callable[[str], str]


def take_out(
    window: OpenWindow,
    acting: Acting,
    leaving: Leaving,
    why: str,
    refused: Mapping[str, str] | None = None,
    *,
    plan: tuple[int, str] | None = None,
) -> Left:
    """Move what leaves, write the receipt and the audit log; a plan (key and id) is used up by it."""
    if not leaving and plan is None:
        return Left()
    receipt_id, refused = acting.new_id("rcpt"), refused or {}
    receipt = window.add_receipt(
        receipt_id,
        acting.actor,
        acting.now,
        plan_id=plan[1] if plan else None,
        counts={"segments": len(leaving.delete), "stashed": len(leaving.stash)},
        refused=refused.items(),
    )
    window.stash([held for held, _ in leaving.stash], receipt)
    window.trash([held for held, _ in leaving.delete], receipt)
    if plan is not None:
        window.plans.use(plan[0], receipt)
    left = Left(gone(leaving.stash), gone(leaving.delete), receipt_id)
    counts = {
        "stashed": len(left.stashed),
        "segments": len(left.deleted),
        "tokens": sum(each.tokens for each in (*left.stashed, *left.deleted)),
    }
    window.audit("context", receipt_id, counts, why, acting.actor, acting.now)
    return left


def take_out_compacted(
    window: OpenWindow, acting: Acting, compactions: Iterable[SessionCompaction], known: Container[str]
) -> Left:
    """Stash what the client dropped from its own window since the last reading; what is pinned here stays.

    A summary that was known before is old news: what it stood for may have been restored since.
    """
    leaving: list[tuple[StoredSegment, tuple[str, ...]]] = []
    for each in compactions:
        if each.summary not in known:
            held = window.find(each.replaced).values()
            reasons = (f"the client compacted it into {each.summary}",)
            leaving += [(one, reasons) for one in held if not one.stashed and not one.segment.pinned]
    return take_out(window, acting, Leaving(leaving), "compacted by the client")


def compaction_notes(left: Left) -> tuple[str, ...]:
    """A sentence on what the client had dropped."""
    if not left.stashed:
        return ()
    what = counted(len(left.stashed), "segment")
    return (f"The client had compacted {what} away: in the stash, undone by {left.receipt_id}.",)


def save_plan(window: OpenWindow, items: Sequence[PlanItem], plan_id: str, now: datetime, lifetime: timedelta) -> None:
    planning = Planning(plan_id, f"{CONTEXT}{window.project_id}", now, lifetime)
    plans.save(window, PlanDraft(tuple(items), (), (), 0.0, 0), Totals(), planning)


def save_analysis(
    window: OpenWindow,
    acting: Acting,
    plan: PruningPlan,
    plan_id: str,
    rows: Mapping[str, StoredSegment],
    lifetime: timedelta,
) -> None:
    """Save the plan of an analysis, with an event of the log."""
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
