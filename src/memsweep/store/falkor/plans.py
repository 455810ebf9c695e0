"""Plans as nodes. What writes works inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memsweep.model.ids import findable
from memsweep.model.plan import PlanItem, evidence_text
from memsweep.model.times import from_micros, to_micros
from memsweep.store.falkor import gc_cypher
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.ports.plans import NewPlan, SavedPlan
from memsweep.store.stored import to_json

_ALL = 1 << 40


class FalkorPlans:
    """Implements `memsweep.store.ports.plans.PlanRows`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        self._asked = asked

    def get(self, plan_id: str) -> SavedPlan | None:
        found = self._asked.ask(gc_cypher.GET_PLAN, id=findable(plan_id))
        if not found:
            return None
        key, uid, strategy, created, expires, digest, summary, receipt = found[0]
        head = NewPlan(uid, strategy, from_micros(created), from_micros(expires), digest, json.loads(summary))
        return SavedPlan(key, head, receipt)

    def items(self, plan: int, offset: int = 0, limit: int | None = None) -> list[PlanItem]:
        values: dict[str, Any] = {"plan": plan, "from": offset, "to": offset + (_ALL if limit is None else limit)}
        rows = self._asked.ask(gc_cypher.PLAN_ITEMS, **values)
        return [PlanItem(kind, key, version, reason, json.loads(said)) for kind, key, version, reason, said in rows]

    def add(self, head: NewPlan, items: Sequence[PlanItem]) -> int:
        tx = writable(self._asked)
        key = tx.new_key()
        row = {
            "key": key,
            "id": head.id,
            "strategy": head.strategy,
            "created_at": to_micros(head.created_at),
            "expires_at": to_micros(head.expires_at),
            "digest": head.digest,
            "summary": to_json(dict(head.summary)),
        }
        tx.do(gc_cypher.ADD_PLAN, [row])
        tx.do(gc_cypher.ADD_ITEM, [_row(key, n, item) for n, item in enumerate(items)])
        return key

    def use(self, plan: int, receipt: int) -> None:
        writable(self._asked).do(gc_cypher.USE_PLAN, [{"plan": plan, "receipt": receipt}])

    def drop_unused(self, expired_before: datetime) -> None:
        writable(self._asked).do(gc_cypher.DROP_OLD_PLANS, [to_micros(expired_before)])


def _row(plan: int, position: int, item: PlanItem) -> dict[str, Any]:
    evidence = evidence_text(item.evidence) if item.evidence else "{}"
    named = {"kind": item.kind, "key": item.key, "version": item.version, "reason": item.reason}
    return {"plan": plan, "position": position, **named, "evidence": evidence}
