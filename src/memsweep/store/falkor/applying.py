"""What undoing, merging and purging share: sets of keys, and a receipt. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from memsweep.model.times import to_micros
from memsweep.store.falkor import gc_cypher
from memsweep.store.falkor.transaction import Change
from memsweep.store.stored import to_json


@dataclass
class Doomed:
    """The keys of what goes."""

    memories: set[int] = field(default_factory=set)
    chunks: set[int] = field(default_factory=set)
    entities: set[int] = field(default_factory=set)
    relations: set[int] = field(default_factory=set)


def add_receipt(
    tx: Change,
    key: int,
    uid: str,
    plan_id: str | None,
    action: str,
    strategy: str,
    actor: str,
    now: datetime,
    counts: dict[str, int],
    skipped: Iterable[tuple[str, str]] = (),
    undone_at: int | None = None,
) -> None:
    row = {
        "key": key,
        "id": uid,
        "plan": plan_id,
        "action": action,
        "strategy": strategy,
        "actor": actor,
        "created_at": to_micros(now),
        "counts": to_json(counts),
        "skipped": to_json(list(skipped)),
        "undone_at": undone_at,
    }
    tx.do(gc_cypher.ADD_RECEIPT, [row])
