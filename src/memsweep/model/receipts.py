"""Receipts as a history: what each did, how much of it is still in the trash, and what has become of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from memsweep.model.plan import Totals

State = Literal["applied", "partly undone", "undone", "purged"]
_COUNTED = Totals.__slots__
_HOLD_NOTHING = ("unmerge",)


class Held(NamedTuple):
    """The contents of a receipt now."""

    memories: int = 0
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    segments: int = 0
    revisions: int = 0
    stashed: int = 0
    """Segments in the stash of a context window, which is no trash."""
    letters: int = 0
    """Of all texts."""

    @property
    def items(self) -> int:
        """The chunks of a memory are no items of their own, but what is alone is."""
        things = self.memories + self.entities + self.relations + self.segments + self.revisions + self.stashed
        return things or self.chunks


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt as an engine keeps it."""

    key: int
    id: str
    plan_id: str | None
    action: str
    strategy: str
    actor: str
    created_at: datetime
    counts: Mapping[str, Any]
    skipped: int
    undone_at: datetime | None
    purged_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReceiptDetails:
    """An operation that was done, and its state now."""

    id: str
    plan_id: str | None
    action: str
    strategy: str
    actor: str
    door: str
    client: str
    created_at: datetime
    state: State
    totals: Totals
    skipped: int
    undone_at: datetime | None = None
    purged_at: datetime | None = None
    held: Held = field(default_factory=Held)
    bytes: int = 0
    """About what is in the trash: texts, a letter as one byte, and vectors."""
    days_left: float | None = None
    """Until a schedule purges it; None where none does, or nothing is left to purge."""

    @property
    def can_be_undone(self) -> bool:
        """Return whether something can be brought back; a split holds nothing, and still can be taken back."""
        return self.state in ("applied", "partly undone") and bool(self.held.items or self.action in _HOLD_NOTHING)


@dataclass(frozen=True, slots=True)
class ReceiptPage:
    receipts: Sequence[ReceiptDetails]
    next_cursor: str | None = None


def details_of(
    row: StoredReceipt, held: Held, now: datetime, vector_bytes: int, purge_days: float | None
) -> ReceiptDetails:
    door, _, client = row.actor.partition(":")
    left = None
    if purge_days is not None and held.items and row.purged_at is None:
        left = max(0.0, (row.created_at + timedelta(days=purge_days) - now) / timedelta(days=1))
    totals = totals_of(row)
    return ReceiptDetails(
        id=row.id,
        plan_id=row.plan_id,
        action=row.action,
        strategy=row.strategy,
        actor=row.actor,
        door=door,
        client=client,
        created_at=row.created_at,
        state=state_of(row, totals, held),
        totals=totals,
        skipped=row.skipped,
        undone_at=row.undone_at,
        purged_at=row.purged_at,
        held=held,
        bytes=held.letters + held.chunks * vector_bytes,
        days_left=left,
    )


def state_of(row: StoredReceipt, moved: Totals, held: Held) -> State:
    """Items can come back one by one, without the receipt being undone; and an undo may leave some behind."""
    if row.purged_at is not None:
        return "purged"
    if row.undone_at is not None:
        return "partly undone" if held.items else "undone"
    if (moved.memories > held.memories or moved.entities > held.entities) and not held.revisions:
        return "partly undone" if held.items else "undone"
    return "applied"


def still_gone(receipts: Iterable[StoredReceipt], held: Mapping[int, Held]) -> Totals:
    """Return what prunes and deletions took that is in the trash or purged; a merge or an edit takes nothing away."""
    gone = Totals()
    for each in receipts:
        if each.action not in ("prune", "delete"):
            continue
        if each.purged_at is None:
            kept = held.get(each.key, Held())
            gone = gone.plus(Totals(memories=kept.memories, entities=kept.entities, relations=kept.relations))
        elif each.undone_at is None:
            gone = gone.plus(totals_of(each))
    return gone


def totals_of(row: StoredReceipt) -> Totals:
    return Totals(*(_number(row.counts.get(name)) for name in _COUNTED))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
