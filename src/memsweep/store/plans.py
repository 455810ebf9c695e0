"""Saved plans, the same for every engine and for everything that plans: the collector, merges, context windows.

A plan is saved whole, shown as its rows are now, and used once, while it is fresh and as it was saved.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from memsweep.errors import Conflict, NotFound, StoreCorrupt
from memsweep.model.likeness import differences
from memsweep.model.plan import (
    NAMING_MEMORIES,
    Kind,
    Plan,
    PlanDraft,
    PlanItem,
    PlanView,
    Protected,
    TextComparison,
    Totals,
    counts_of,
    digest_of,
    why_unusable,
)
from memsweep.model.text import clipped, excerpt
from memsweep.model.times import moment_or_none
from memsweep.store.items import Described, Items
from memsweep.store.receipts import Plans, SavedPlan
from memsweep.store.things.collected import PlanRow

MERGE = "merge"
SECRET = "secret"
"""The reason whose items are shown with their secrets masked."""
BARE = "bare"
"""Evidence that a secret is known only by its value, which stands elsewhere with what tells that it is one."""
NEAR_DUPLICATE = "near_duplicate"
"""The reason that is shown with both texts."""
BESIDE = frozenset({NEAR_DUPLICATE, "duplicate", SECRET})
"""Reasons that can be shown with a text before and after."""
CONTEXT = "context:"
"""How the strategy of a plan for a context window begins; its name follows."""
_SHOWN_PROTECTED = 50
_SHOWN_TEXT = 240
_MARK = re.compile(r"\[secret: [^\]]*\]?")
_DOTS = "•" * 8
_SHOWN: tuple[Kind, ...] = ("memory", "chunk", "entity", "relation")
_SUMMARY: Mapping[str, Any] = {
    "totals": {},
    "item_count": 0,
    "protected": [],
    "warnings": [],
    "share": 0.0,
    "workspace_memories": 0,
    "narrowed_from": "",
}


@dataclass(frozen=True, slots=True)
class Planning:
    """The context of a new plan: its id, its strategy, the time, and how long it may be used."""

    plan_id: str
    strategy: str
    now: datetime
    lifetime: timedelta = timedelta(0)


class Reads:
    """The rows and plans of a transaction of the collector, or of an open context window."""

    items: Items
    plans: Plans


def save(tx: Reads, draft: PlanDraft, totals: Totals, planning: Planning) -> tuple[int, Plan]:
    """Keep a plan, and let go of those that nobody used in time; its key, and the plan."""
    shown = draft.protected[:_SHOWN_PROTECTED]
    head = PlanRow(
        id=planning.plan_id,
        strategy=planning.strategy,
        created_at=planning.now,
        expires_at=planning.now + planning.lifetime,
        digest=digest_of(draft.items),
        summary=_summary(draft, totals, shown),
    )
    plan = _opened(tx.items, head)
    tx.plans.drop_unused(planning.now)
    return tx.plans.add(head, draft.items), replace(plan, items=draft.items)


def load(rows: Reads, plan_id: str, window: str | None = None) -> tuple[SavedPlan, Plan]:
    """A plan as it was saved; a context window has plans of its own, which nobody else may use."""
    found = rows.plans.get(plan_id)
    if found is None:
        raise NotFound(f"plan {plan_id!r:.60} does not exist in this workspace.", hint=_renewal(window))
    strategy = found.head.strategy
    owner = strategy.removeprefix(CONTEXT) if strategy.startswith(CONTEXT) else None
    if owner != window:
        raise Conflict(f"plan {found.head.id} is for {strategy}, and cannot be used here.")
    return found, replace(_opened(rows.items, found.head), receipt_id=found.receipt_id)


def excluded(saved: SavedPlan) -> list[tuple[Kind, int]]:
    """Return the items that stay whatever else of the plan goes."""
    return [(kind, key) for kind, key in saved.head.summary.get("spared", ())]


def load_usable(rows: Reads, plan_id: str, now: datetime) -> tuple[SavedPlan, Plan]:
    """A plan that can be applied now; of a plan and its parts, one is used."""
    saved, plan = load(rows, plan_id)
    refuse_unusable(plan, saved.receipt_id, now)
    if plan.narrowed_from:
        whole, of = load(rows, plan.narrowed_from)
        refuse_unusable(of, whole.receipt_id, now)
    return saved, plan


def use_whole(tx: Reads, part: Plan, receipt: int) -> None:
    """With a part of a plan, the whole is used; its items, which no receipt leads to, are not needed any more."""
    whole = tx.plans.get(part.narrowed_from) if part.narrowed_from else None
    if whole is not None:
        tx.plans.use(whole.key, receipt)
        tx.plans.forget([whole.key])


def refuse_unusable(plan: Plan, receipt_id: str | None, now: datetime, window: str | None = None) -> None:
    """A plan is used once, and while it is fresh."""
    if why := why_unusable(plan, receipt_id, now):
        raise Conflict(f"plan {plan.id} {why}", hint=_renewal(window))


def refuse_altered(plan: Plan, items: Sequence[PlanItem], window: str | None = None) -> None:
    """Items that are not those that were saved are not touched."""
    if digest_of(items) != plan.digest:
        raise StoreCorrupt(f"plan {plan.id} is not as it was saved; nothing was removed.", hint=_renewal(window))


def views(rows: Items, items: Sequence[PlanItem], beside: Collection[str] = (NEAR_DUPLICATE,)) -> list[PlanView]:
    """Items as their rows are now; those with the reasons `beside` with what stays in their place."""
    wanted: dict[Kind, set[int]] = {}
    for item in items:
        wanted.setdefault(item.kind, set()).add(item.key)
        for name in _named(item.evidence):
            wanted.setdefault("memory", set()).add(item.evidence[name])
    described = rows.describe({kind: wanted[kind] for kind in _SHOWN if kind in wanted})
    paired = [item for item in items if item.reason in beside and "kept" in item.evidence]
    wanted_texts = {key for item in paired for key in (item.key, item.evidence["kept"])}
    secret = {item.key for item in items if item.reason == SECRET and item.kind == "memory"}
    texts = rows.texts(wanted_texts | secret)
    return [_masked(view, texts.get(item.key, ""), SECRET in beside) if item.reason == SECRET else view
            for item in items for view in [_view(item, described, texts)]]  # fmt: skip


def _masked(view: PlanView, text: str, beside: bool) -> PlanView:
    """Return a view without its secret: masked before it is cut, for half of a secret is found by no rule."""
    from memsweep.secrets.find import mark, redacted  # late: every start that touches the graph would pay for its rules
    from memsweep.secrets.known import shown

    kind = view.evidence["secrets"][0]
    is_bare = view.evidence.get(BARE, False)
    if view.kind == "memory":
        after = shown(text, kind) if is_bare else redacted(text)[0]
        name = None if view.file_path else excerpt(after)
        return replace(view, name=name, beside=_redaction(after) if beside else None)
    if view.kind == "entity":
        return replace(view, name=mark(kind) if is_bare else redacted(view.name or "")[0])
    if view.kind == "relation":  # one of its ends may be named by the value alone
        return replace(view, name=shown(view.name or "", kind), relation=view.relation and shown(view.relation, kind))
    return replace(view, id=str(view.evidence.get("id") or view.evidence.get("in", view.kind)), name=None)


def _view(item: PlanItem, described: Mapping[tuple[Kind, int], Described], texts: Mapping[int, str]) -> PlanView:
    row = described.get((item.kind, item.key), Described())
    evidence = dict(item.evidence)
    for name in _named(evidence):  # keys are the engine's own; people get ids
        evidence[name] = described.get(("memory", evidence[name]), Described()).id
    is_relation = item.kind == "relation"
    return PlanView(
        kind=item.kind,
        id=row.id,
        reason=item.reason,
        evidence=evidence,
        name=None if row.path else row.whole_name,
        entity_type=(row.type or "") if item.kind == "entity" else None,
        file_path=f"{str(row.root).rstrip('/')}/{row.path}" if row.path else None,
        relative_path=row.path,
        created_at=moment_or_none(row.created_at),
        chunk_count=row.chunks,
        text_length=row.length,
        relation=row.name if is_relation else None,
        ends=(row.ends or ("", "")) if is_relation else None,
        beside=_beside(texts.get(item.key), texts.get(item.evidence.get("kept", 0))),
    )


def _named(evidence: Mapping[str, Any]) -> list[str]:
    return [name for name in NAMING_MEMORIES if name in evidence]


def _beside(text: str | None, kept: str | None) -> TextComparison | None:
    """Two texts as they are now; computed when it is shown, for a plan must not outlive the content it speaks of."""
    if text is None or kept is None:
        return None
    return TextComparison(clipped(text, _SHOWN_TEXT), clipped(kept, _SHOWN_TEXT), tuple(differences(text, kept)))


def _redaction(after: str) -> TextComparison:
    """Return the text around the first secret: with dots for it before, and a mark after."""
    first = _MARK.search(after)
    start = max(0, first.start() - _SHOWN_TEXT // 3) if first else 0
    shown = clipped(after[start:], _SHOWN_TEXT)
    return TextComparison(_MARK.sub(_DOTS, shown), shown, ())


def _opened(rows: Items, head: PlanRow) -> Plan:
    said = {**_SUMMARY, **head.summary}
    return Plan(
        id=head.id,
        strategy=head.strategy,
        created_at=head.created_at,
        expires_at=head.expires_at,
        digest=head.digest,
        totals=Totals(**said["totals"]),
        item_count=said["item_count"],
        protected=_shown(rows, [Protected(*item) for item in said["protected"]]),
        warnings=tuple(said["warnings"]),
        share=said["share"],
        workspace_memories=said["workspace_memories"],
        narrowed_from=said["narrowed_from"],
    )


def _shown(rows: Items, protected: Sequence[Protected]) -> tuple[dict[str, Any], ...]:
    if not protected:
        return ()
    return tuple(
        {"id": view.id, "type": view.kind.capitalize(), "name": view.relative_path or view.name, "reason": view.reason}
        for view in views(rows, [PlanItem(item.kind, item.key, 0, item.reason) for item in protected])
    )


def _summary(draft: PlanDraft, totals: Totals, protected: Iterable[Protected]) -> dict[str, Any]:
    """Return the summary of a plan. Keys instead of names: a plan must not outlive the content it speaks of."""
    return {
        "totals": counts_of(totals),
        "item_count": len(draft.items),
        "protected": [(item.kind, item.key, item.reason) for item in protected],
        "warnings": list(draft.warnings),
        "share": draft.share,
        "workspace_memories": draft.workspace_memories,
        **({"narrowed_from": draft.narrowed_from, "spared": draft.excluded} if draft.narrowed_from else {}),
    }


def _renewal(window: str | None) -> str:
    return f"Make a new one with {'dry_run=true' if window is None else 'context_gc_analyze'}."
