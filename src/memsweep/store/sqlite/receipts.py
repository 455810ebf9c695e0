"""Receipts as rows. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

import apsw

from memsweep.model.ids import findable
from memsweep.model.plan import counts_of
from memsweep.model.receipts import Held, StoredReceipt
from memsweep.model.times import micros_or_none, to_micros
from memsweep.store.file.connect import one
from memsweep.store.ports.receipts import NewReceipt, ReceiptRow
from memsweep.store.receipt_values import held_by, receipt_row, stored_receipt
from memsweep.store.sqlite import receipt_sql
from memsweep.store.stored import to_json


class SqliteReceipts:
    """Implements `memsweep.store.ports.receipts.ReceiptRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def get(self, receipt_id: str) -> ReceiptRow | None:
        found = self._rows(receipt_sql.GET, findable(receipt_id))
        return found[0] if found else None

    def at(self, keys: Collection[int]) -> dict[int, ReceiptRow]:
        return {row.key: row for row in self._rows(receipt_sql.AT, json.dumps(sorted(keys)))}

    def page(self, before: int | None, limit: int, *, holding: bool) -> list[StoredReceipt]:
        found: list[Any] = self._db.execute(
            receipt_sql.PAGE, {"before": before, "limit": limit, "holding": holding}
        ).fetchall()
        return [stored_receipt(*row) for row in found]

    def held(self, keys: Collection[int]) -> dict[int, Held]:
        asked = {"keys": json.dumps(sorted(keys))}
        rows = [
            (kind, row) for kind, statement in receipt_sql.HELD.items() for row in self._db.execute(statement, asked)
        ]
        return held_by(rows)

    def not_purged(self, before: datetime) -> list[ReceiptRow]:
        return self._rows(receipt_sql.NOT_PURGED, to_micros(before))

    def add(self, receipt: NewReceipt) -> int:
        undone = micros_or_none(receipt.undone_at)
        named = (receipt.id, receipt.plan_id, receipt.action, receipt.strategy, receipt.actor)
        counts, skipped = to_json(counts_of(receipt.totals)), to_json(list(receipt.skipped))
        key: int = one(self._db, receipt_sql.ADD, (*named, to_micros(receipt.created_at), counts, skipped, undone))
        return key

    def set_undone(self, key: int, at: datetime) -> None:
        self._db.execute(receipt_sql.SET_UNDONE, (to_micros(at), key))

    def set_purged(self, keys: Collection[int], at: datetime) -> None:
        self._db.executemany(receipt_sql.SET_PURGED, [(to_micros(at), key) for key in sorted(keys)])

    def _rows(self, statement: str, value: object) -> list[ReceiptRow]:
        rows: list[Any] = self._db.execute(statement, (value,)).fetchall()
        return [receipt_row(*row) for row in rows]
