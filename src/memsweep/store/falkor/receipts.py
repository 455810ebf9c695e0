"""Receipts as nodes. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from memsweep.model.ids import findable
from memsweep.model.plan import counts_of
from memsweep.model.times import from_micros, to_micros
from memsweep.store.changes import NewReceipt, ReceiptRow
from memsweep.store.falkor import receipt_cypher
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.stored import to_json


class FalkorReceipts:
    """Implements `memsweep.store.changes.ReceiptRows`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        self._asked = asked

    def get(self, receipt_id: str) -> ReceiptRow | None:
        found = self._rows(receipt_cypher.GET, id=findable(receipt_id))
        return found[0] if found else None

    def at(self, keys: Collection[int]) -> dict[int, ReceiptRow]:
        return {row.key: row for row in self._rows(receipt_cypher.AT, keys=sorted(keys))} if keys else {}

    def not_purged(self, before: datetime) -> list[ReceiptRow]:
        return self._rows(receipt_cypher.NOT_PURGED, before=to_micros(before))

    def add(self, receipt: NewReceipt) -> int:
        tx = writable(self._asked)
        key = tx.new_key()
        row = {
            "key": key,
            "id": receipt.id,
            "plan": receipt.plan_id,
            "action": receipt.action,
            "strategy": receipt.strategy,
            "actor": receipt.actor,
            "created_at": to_micros(receipt.created_at),
            "counts": to_json(counts_of(receipt.totals)),
            "skipped": to_json(list(receipt.skipped)),
            "undone_at": None if receipt.undone_at is None else to_micros(receipt.undone_at),
        }
        tx.do(receipt_cypher.ADD, [row])
        return key

    def set_undone(self, key: int, at: datetime) -> None:
        writable(self._asked).do(receipt_cypher.SET_UNDONE, [{"key": key, "at": to_micros(at)}])

    def set_purged(self, keys: Collection[int], at: datetime) -> None:
        writable(self._asked).do(receipt_cypher.SET_PURGED, [{"key": key, "at": to_micros(at)} for key in sorted(keys)])

    def _rows(self, query: str, **values: Any) -> list[ReceiptRow]:
        rows = self._asked.ask(query, **values)
        return [ReceiptRow(key, uid, plan, _moment(undone), _moment(purged)) for key, uid, plan, undone, purged in rows]


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
