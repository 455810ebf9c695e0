"""Plans as nodes. What writes works inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memsweep.errors import Conflict, NotFound, StoreCorrupt
from memsweep.model.ids import findable
from memsweep.model.plan import (
    Draft,
    Kind,
    Plan,
    PlanItem,
    PlanView,
    Protected,
    Totals,
    digest_of,
    evidence_text,
    why_unusable,
)
from memsweep.model.times import from_micros, to_micros
from memsweep.store.falkor import gc_cypher
from memsweep.store.falkor.transaction import Change, Graph
from memsweep.store.stored import to_json

MERGE = "merge"
CONTEXT = "context:"
"""How the strategy of a plan for a context window begins; its name follows."""

_SHOWN_PROTECTED = 50
_ALL = 1 << 40
_DESCRIBED = {
    "memory": gc_cypher.DESCRIBE_MEMORY,
    "chunk": gc_cypher.DESCRIBE_CHUNK,
    "entity": gc_cypher.DESCRIBE_ENTITY,
    "relation": gc_cypher.DESCRIBE_RELATION,
}


def save(
    tx: Change, draft: Draft, uid: str, strategy: str, now: datetime, lifetime: timedelta, totals: Totals
) -> tuple[int, Plan]:
    at, expires, key = to_micros(now), now + lifetime, tx.new_key()
    shown = draft.protected[:_SHOWN_PROTECTED]
    plan = Plan(
        id=uid,
        strategy=strategy,
        created_at=now,
        expires_at=expires,
        digest=digest_of(draft.items),
        totals=totals,
        item_count=len(draft.items),
        protected=_shown(tx, shown),
        warnings=draft.warnings,
        share=draft.share,
        workspace_memories=draft.workspace_memories,
    )
    tx.do(gc_cypher.DROP_OLD_PLANS, [at])
    head = {"key": key, "id": uid, "strategy": strategy, "created_at": at, "expires_at": to_micros(expires)}
    tx.do(gc_cypher.ADD_PLAN, [{**head, "digest": plan.digest, "summary": to_json(_summary(plan, shown))}])
    tx.do(gc_cypher.ADD_ITEM, [_item_row(key, n, item) for n, item in enumerate(draft.items)])
    return key, plan


def _item_row(plan: int, position: int, item: PlanItem) -> dict[str, Any]:
    evidence = evidence_text(item.evidence) if item.evidence else "{}"
    named = {"kind": item.kind, "key": item.key, "version": item.version, "reason": item.reason}
    return {"plan": plan, "position": position, **named, "evidence": evidence}


def load(asked: Graph | Change, uid: str, window: str | None = None) -> tuple[int, Plan, str | None]:
    """The plan's key, the plan, and the receipt of its use if it was used; a context window has plans of its own."""
    found = asked.ask(gc_cypher.GET_PLAN, id=findable(uid))
    if not found:
        raise NotFound(f"plan {uid!r:.60} does not exist in this workspace.", hint=_renewal(window))
    key, uid, strategy, created, expires, digest, summary, receipt = found[0]
    owner = strategy.removeprefix(CONTEXT) if strategy.startswith(CONTEXT) else None
    if owner != window:
        raise Conflict(f"plan {uid} is one of {strategy}, and cannot be used here.")
    said = json.loads(summary)
    plan = Plan(
        id=uid,
        strategy=strategy,
        created_at=from_micros(created),
        expires_at=from_micros(expires),
        digest=digest,
        totals=Totals(**said["totals"]),
        item_count=said["item_count"],
        protected=_shown(asked, [Protected(*item) for item in said["protected"]]),
        warnings=tuple(said["warnings"]),
        share=said["share"],
        workspace_memories=said["workspace_memories"],
    )
    return key, plan, receipt


def items(asked: Graph | Change, plan: int, first: int = 0, count: int = _ALL) -> list[PlanItem]:
    values: dict[str, Any] = {"plan": plan, "from": first, "to": first + count}
    rows = asked.ask(gc_cypher.PLAN_ITEMS, **values)
    return [PlanItem(kind, key, version, reason, json.loads(said)) for kind, key, version, reason, said in rows]


def refuse_unusable(plan: Plan, receipt_id: str | None, now: datetime, window: str | None = None) -> None:
    """A plan is used once, and while it is fresh."""
    if why := why_unusable(plan, receipt_id, now):
        raise Conflict(f"plan {plan.id} {why}", hint=_renewal(window))


def verified(plan: Plan, found: Sequence[PlanItem]) -> Sequence[PlanItem]:
    """Refuse items that are not those that were saved."""
    if digest_of(found) != plan.digest:
        raise StoreCorrupt(
            f"plan {plan.id} is not as it was saved; nothing was removed.", hint="Make a new one with dry_run=true."
        )
    return found


def views(asked: Graph | Change, found: Sequence[PlanItem]) -> list[PlanView]:
    """Items as their nodes are now."""
    keys: dict[str, set[int]] = {}
    for item in found:
        keys.setdefault(item.kind, set()).add(item.key)
        if "kept" in item.evidence:
            keys.setdefault("memory", set()).add(item.evidence["kept"])
    rows = {kind: _described(asked, kind, wanted) for kind, wanted in keys.items() if kind in _DESCRIBED}
    return [_view(item, rows) for item in found]


def _described(asked: Graph | Change, kind: str, keys: Iterable[int]) -> dict[int, list[Any]]:
    queries = gc_cypher.live_and_trashed(_DESCRIBED[kind])
    found = asked.ask_all(*((query, {"keys": sorted(keys)}) for query in queries))
    return {row[0]: row[1:] for rows in found for row in rows}


def _view(item: PlanItem, rows: Mapping[str, Mapping[int, list[Any]]]) -> PlanView:
    evidence = dict(item.evidence)
    if "kept" in evidence:  # keys are the engine's own; people get ids
        evidence["kept"] = rows["memory"].get(evidence["kept"], [""])[0]
    found = rows.get(item.kind, {}).get(item.key)
    match item.kind:
        case "memory":
            uid, name, created, length, root, path, chunks = found or ("", "", None, 0, None, None, 0)
            return PlanView(
                kind="memory",
                id=uid,
                reason=item.reason,
                evidence=evidence,
                name=None if path else name,
                file_path=f"{str(root).rstrip('/')}/{path}" if path else None,
                relative_path=path,
                created_at=None if created is None else from_micros(created),
                chunk_count=chunks,
                text_length=length,
            )
        case "chunk":
            uid, name, length = found or ("", "", 0)
            return PlanView("chunk", uid, item.reason, evidence, name=name, text_length=length)
        case "entity":
            uid, name, kind, created = found or ("", "", "", None)
            made = None if created is None else from_micros(created)
            return PlanView("entity", uid, item.reason, evidence, name=name, entity_type=kind, created_at=made)
        case _:
            uid, name, subject, subject_name, target, target_name, created = found or ("", "", "", "", "", "", None)
            return PlanView(
                kind="relation",
                id=uid,
                reason=item.reason,
                evidence=evidence,
                name=f"{subject_name} {name} {target_name}",
                relation=name,
                ends=(subject, target),
                created_at=None if created is None else from_micros(created),
            )


def _shown(asked: Graph | Change, protected: Sequence[Protected]) -> tuple[dict[str, Any], ...]:
    seen = views(asked, [PlanItem(item.kind, item.key, 0, item.reason) for item in protected])
    return tuple(
        {"id": view.id, "type": _capital(view.kind), "name": view.relative_path or view.name, "reason": view.reason}
        for view in seen
    )


def _capital(kind: Kind) -> str:
    return kind.capitalize()


def _renewal(window: str | None) -> str:
    return f"Make a new one with {'dry_run=true' if window is None else 'context_gc_analyze'}."


def _summary(plan: Plan, protected: Iterable[Protected]) -> dict[str, Any]:
    """What the plan says of itself. Keys instead of names: a plan must not outlive the content it speaks of."""
    totals = plan.totals
    return {
        "totals": {
            "memories": totals.memories,
            "chunks": totals.chunks,
            "entities": totals.entities,
            "relations": totals.relations,
        },
        "item_count": plan.item_count,
        "protected": [(item.kind, item.key, item.reason) for item in protected],
        "warnings": list(plan.warnings),
        "share": plan.share,
        "workspace_memories": plan.workspace_memories,
    }
