"""Plans as rows. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import apsw

from memsweep.model.ids import findable
from memsweep.model.plan import PlanItem, evidence_text
from memsweep.model.times import from_micros, to_micros
from memsweep.store.file.connect import one, row
from memsweep.store.ports.plans import NewPlan, SavedPlan
from memsweep.store.sqlite import plan_sql
from memsweep.store.stored import mapping, to_json


class SqlitePlans:
    """Implements `memsweep.store.ports.plans.PlanRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def get(self, plan_id: str) -> SavedPlan | None:
        found = row(self._db, plan_sql.GET, (findable(plan_id),))
        if found is None:
            return None
        key, uid, strategy, created, expires, digest, summary, receipt = found
        head = NewPlan(uid, strategy, from_micros(created), from_micros(expires), digest, mapping(summary))
        return SavedPlan(key, head, receipt)

    def items(self, plan: int, offset: int = 0, limit: int | None = None) -> list[PlanItem]:
        rows = self._db.execute(plan_sql.ITEMS, (plan, offset, -1 if limit is None else limit))
        return [PlanItem(kind, key, version, reason, mapping(said)) for kind, key, version, reason, said in rows]

    def add(self, head: NewPlan, items: Sequence[PlanItem]) -> int:
        times = (to_micros(head.created_at), to_micros(head.expires_at))
        values = (head.id, head.strategy, *times, head.digest, to_json(dict(head.summary)))
        key: int = one(self._db, plan_sql.ADD, values)
        self._db.executemany(plan_sql.ADD_ITEM, (_values(key, n, item) for n, item in enumerate(items)))
        return key

    def use(self, plan: int, receipt: int) -> None:
        self._db.execute(plan_sql.USE, (receipt, plan))

    def drop_unused(self, expired_before: datetime) -> None:
        for statement in (plan_sql.DROP_UNUSED_ITEMS, plan_sql.DROP_UNUSED):
            self._db.execute(statement, (to_micros(expired_before),))


def _values(plan: int, position: int, item: PlanItem) -> tuple[object, ...]:
    evidence = evidence_text(item.evidence) if item.evidence else "{}"
    return plan, position, item.kind, item.key, item.version, item.reason, evidence
