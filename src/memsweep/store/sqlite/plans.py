"""Plans as rows. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import apsw

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
from memsweep.store.file import meta_sql
from memsweep.store.file.connect import one, row
from memsweep.store.sqlite import gc_sql
from memsweep.store.stored import to_json

_SHOWN_PROTECTED = 50
_PLANNED: tuple[Kind, ...] = ("memory", "chunk", "entity", "relation")
_HOW_TO_RENEW = "Make a new one with dry_run=true."
MERGE = "merge"
CONTEXT = "context:"
"""How the strategy of a plan for a context window begins; its name follows."""


def save(db: apsw.Connection, draft: Draft, uid: str, strategy: str, now: datetime, lifetime: timedelta) -> Plan:
    at = to_micros(now)
    db.execute(gc_sql.DROP_OLD_PLANS, (at,))
    db.execute(gc_sql.DROP_OLD_PLAN_HEADS, (at,))
    expires, digest = now + lifetime, digest_of(draft.items)
    key = one(db, gc_sql.ADD_PLAN, (uid, strategy, at, to_micros(expires), digest, "{}"))
    items = (
        (
            key,
            n,
            item.kind,
            item.key,
            item.version,
            item.reason,
            evidence_text(item.evidence) if item.evidence else "{}",
        )
        for n, item in enumerate(draft.items)
    )
    db.executemany(gc_sql.ADD_ITEM, items)
    shown = draft.protected[:_SHOWN_PROTECTED]
    plan = Plan(
        id=uid,
        strategy=strategy,
        created_at=now,
        expires_at=expires,
        digest=digest,
        totals=_totals(db, key, draft),
        item_count=len(draft.items),
        protected=tuple(_shown(db, item) for item in shown),
        warnings=draft.warnings,
        share=draft.share,
        workspace_memories=draft.workspace_memories,
    )
    db.execute(gc_sql.SET_SUMMARY, (to_json(_summary(plan, shown)), key))
    return plan


def load(db: apsw.Connection, uid: str, window: str | None = None) -> tuple[int, Plan, str | None]:
    """The plan's key, the plan, and the receipt of its use if it was used; a context window has plans of its own."""
    found = row(db, gc_sql.GET_PLAN, (findable(uid),))
    if found is None:
        raise NotFound(f"plan {uid!r:.60} does not exist in this workspace.", hint=_renewal(window))
    key, uid, strategy, created, expires, digest, summary, receipt = found
    owner = strategy.removeprefix(CONTEXT) if strategy.startswith(CONTEXT) else None
    if owner != window:
        raise Conflict(f"plan {uid} is one of {strategy}, and cannot be used here.")
    said: dict[str, Any] = {"totals": {}, "item_count": 0, "protected": [], "warnings": [], "share": 0.0}
    said |= {"workspace_memories": 0} | json.loads(summary)
    plan = Plan(
        id=uid,
        strategy=strategy,
        created_at=from_micros(created),
        expires_at=from_micros(expires),
        digest=digest,
        totals=Totals(**said["totals"]),
        item_count=said["item_count"],
        protected=tuple(_shown(db, Protected(*item)) for item in said["protected"]),
        warnings=tuple(said["warnings"]),
        share=said["share"],
        workspace_memories=said["workspace_memories"],
    )
    return key, plan, receipt


def refuse_unusable(plan: Plan, receipt_id: str | None, now: datetime, window: str | None = None) -> None:
    """A plan is used once, and while it is fresh."""
    if why := why_unusable(plan, receipt_id, now):
        raise Conflict(f"plan {plan.id} {why}", hint=_renewal(window))


def _renewal(window: str | None) -> str:
    return f"Make a new one with {'dry_run=true' if window is None else 'context_gc_analyze'}."


def verify(db: apsw.Connection, key: int, plan: Plan) -> list[PlanItem]:
    """The items; refused if they are not those that were saved."""
    rows = db.execute(meta_sql.PLAN_ITEMS, (key,))
    items = [PlanItem(kind, item, version, reason, json.loads(said)) for kind, item, version, reason, said in rows]
    if digest_of(items) != plan.digest:
        raise StoreCorrupt(
            f"plan {plan.id} is not as it was saved; nothing was removed.", hint="Make a new one with dry_run=true."
        )
    return items


def views(db: apsw.Connection, key: int, offset: int, limit: int) -> list[PlanView]:
    rows: list[Any] = db.execute(gc_sql.PAGE_OF_ITEMS, (key, offset, limit)).fetchall()
    return [describe(db, kind, item, reason, json.loads(evidence)) for kind, item, reason, evidence in rows]


def describe(db: apsw.Connection, kind: Kind, key: int, reason: str, evidence: Mapping[str, Any]) -> PlanView:
    """An item as its row is now."""
    evidence = _readable(db, evidence)
    match kind:
        case "memory":
            found: Any = row(db, gc_sql.DESCRIBE_MEMORY, (key,)) or _GONE_MEMORY
            uid, name, created, length, root, path, chunks = found
            return PlanView(
                kind="memory",
                id=uid,
                reason=reason,
                evidence=evidence,
                name=None if path else name,
                file_path=f"{root.rstrip('/')}/{path}" if path else None,
                relative_path=path,
                created_at=None if created is None else from_micros(created),
                chunk_count=chunks,
                text_length=length,
            )
        case "chunk":
            uid, name, length = row(db, gc_sql.DESCRIBE_CHUNK, (key,)) or ("", "", 0)
            return PlanView("chunk", uid, reason, evidence, name=name, text_length=length)
        case "entity":
            uid, name, entity_type, created = row(db, gc_sql.DESCRIBE_ENTITY, (key,)) or ("", "", "", None)
            made = None if created is None else from_micros(created)
            return PlanView("entity", uid, reason, evidence, name=name, entity_type=entity_type, created_at=made)
        case _:
            uid, name, subject, subject_name, target, target_name, created = (
                row(db, gc_sql.DESCRIBE_RELATION, (key,)) or _GONE_RELATION
            )
            return PlanView(
                kind="relation",
                id=uid,
                reason=reason,
                evidence=evidence,
                name=f"{subject_name} {name} {target_name}",
                relation=name,
                ends=(subject, target),
                created_at=None if created is None else from_micros(created),
            )


_GONE_MEMORY = ("", "", None, 0, None, None, 0)
_GONE_RELATION = ("", "", "", "", "", "", None)


def _readable(db: apsw.Connection, evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Keys are the engine's own; people get ids."""
    shown = dict(evidence)
    if "kept" in shown:
        found = row(db, gc_sql.DESCRIBE_MEMORY, (shown["kept"],))
        shown["kept"] = found[0] if found else ""
    return shown


def _totals(db: apsw.Connection, key: int, draft: Draft) -> Totals:
    count = {kind: sum(item.kind == kind for item in draft.items) for kind in _PLANNED}
    cascade = one(db, gc_sql.CASCADE_CHUNKS, (key,)) if count["memory"] else 0
    relations = one(db, gc_sql.CASCADE_RELATIONS, {"plan": key}) if any(count.values()) else 0
    return Totals(count["memory"], count["chunk"] + cascade, count["entity"], relations)


def _shown(db: apsw.Connection, item: Protected) -> dict[str, Any]:
    view = describe(db, item.kind, item.key, item.reason, {})
    return {
        "id": view.id,
        "type": item.kind.capitalize(),
        "name": view.relative_path or view.name,
        "reason": item.reason,
    }


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
