"""Receipts and what they hold as an engine reads them. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from memsweep.model.receipts import Held, StoredReceipt
from memsweep.model.times import from_micros, moment_or_none
from memsweep.store.ports.receipts import ReceiptRow
from memsweep.store.stored import expect, mapping


def stored_receipt(
    key: int,
    uid: str,
    plan: str | None,
    action: str,
    strategy: str,
    actor: str,
    created_at: int,
    counts: str,
    skipped: str,
    undone_at: int | None,
    purged_at: int | None,
) -> StoredReceipt:
    expect(str, uid, action, strategy, actor)
    undone, purged = (moment_or_none(at) for at in (undone_at, purged_at))
    return StoredReceipt(
        key,
        uid,
        plan,
        action,
        strategy,
        actor,
        from_micros(created_at),
        mapping(counts),
        len(json.loads(skipped)),
        undone,
        purged,
    )


def receipt_row(key: int, uid: str, plan: str | None, undone_at: int | None, purged_at: int | None) -> ReceiptRow:
    return ReceiptRow(key, uid, plan, moment_or_none(undone_at), moment_or_none(purged_at))


def held_by(rows: Iterable[tuple[str, Sequence[Any]]]) -> dict[int, Held]:
    """From rows of a kind each: a receipt, how many it holds, and the letters of them."""
    found: dict[int, Held] = defaultdict(Held)
    for kind, (receipt, number, letters) in rows:
        held = found[receipt]
        found[receipt] = held._replace(**{kind: number, "letters": held.letters + int(letters)})
    return dict(found)
