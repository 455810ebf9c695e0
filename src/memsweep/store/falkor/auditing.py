"""Who did what, when and why: a node for each event, written with what it tells of."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from memsweep.model.times import to_micros
from memsweep.store.falkor import gc_cypher
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.stored import to_json


def audit(
    tx: Transaction, now: datetime, actor: str, action: str, subject: str, counts: Mapping[str, int], reason: str
) -> None:
    row = {"key": tx.new_key(), "at": to_micros(now), "actor": actor, "action": action, "subject": subject}
    tx.do(gc_cypher.ADD_AUDIT, [{**row, "counts": to_json(dict(counts)), "reason": reason}])
