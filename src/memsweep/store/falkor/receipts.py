"""Receipts as nodes. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from memsweep.model.ids import findable
from memsweep.model.plan import counts_of
from memsweep.model.receipts import Held, StoredReceipt
from memsweep.model.times import micros_or_none, to_micros
from memsweep.store.falkor import receipt_cypher
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.ports.receipts import NewReceipt, ReceiptRow
from memsweep.store.receipt_values import held_by, receipt_row, stored_receipt
from memsweep.store.stored import to_json

_ALL = 1 << 60


class FalkorReceipts:
    """Implements `memsweep.store.ports.receipts.ReceiptRows`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        self._asked = asked

    def get(self, receipt_id: str) -> ReceiptRow | None:
        found = self._rows(receipt_cypher.GET, id=findable(receipt_id))
        return found[0] if found else None

    def at(self, keys: Collection[int]) -> dict[int, ReceiptRow]:
        return {row.key: row for row in self._rows(receipt_cypher.AT, keys=sorted(keys))} if keys else {}

    def page(self, before: int | None, limit: int, *, holding: bool) -> list[StoredReceipt]:
        found = self._asked.ask_all(*((query, {}) for query in receipt_cypher.TRASHED_HOLDERS)) if holding else []
        keys = sorted({key for rows in found for (key,) in rows})
        asked = {"before": _ALL if before is None else before, "limit": limit, "holding": holding, "keys": keys}
        rows = self._asked.ask(receipt_cypher.PAGE, **asked)
        return [stored_receipt(*row) for row in rows]

    def held(self, keys: Collection[int]) -> dict[int, Held]:
        asked = {"keys": sorted(keys)}
        answers = self._asked.ask_all(*((query, asked) for query in receipt_cypher.HELD.values()))
        rows = [(kind, row) for kind, found in zip(receipt_cypher.HELD, answers, strict=True) for row in found]
        return held_by(rows)

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
            "undone_at": micros_or_none(receipt.undone_at),
        }
        tx.do(receipt_cypher.ADD, [row])
        return key

    def set_undone(self, key: int, at: datetime) -> None:
        writable(self._asked).do(receipt_cypher.SET_UNDONE, [{"key": key, "at": to_micros(at)}])

    def set_purged(self, keys: Collection[int], at: datetime) -> None:
        writable(self._asked).do(receipt_cypher.SET_PURGED, [{"key": key, "at": to_micros(at)} for key in sorted(keys)])

    def _rows(self, query: str, **values: Any) -> list[ReceiptRow]:
        rows = self._asked.ask(query, **values)
        return [receipt_row(*row) for row in rows]
