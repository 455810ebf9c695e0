"""Receipts as rows: what operations have done, and what of it can still come back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from memsweep.model.plan import Totals
from memsweep.model.receipts import Held, StoredReceipt


@dataclass(frozen=True, slots=True)
class NewReceipt:
    """What an operation has done, before it has a key."""

    id: str
    action: str
    strategy: str
    actor: str
    created_at: datetime
    plan_id: str | None = None
    totals: Totals = field(default_factory=Totals)
    skipped: Sequence[tuple[str, str]] = ()
    undone_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    key: int
    id: str
    plan_id: str | None
    undone_at: datetime | None
    purged_at: datetime | None


class ReceiptReads(Protocol):
    def get(self, receipt_id: str) -> ReceiptRow | None: ...

    def at(self, keys: Collection[int]) -> dict[int, ReceiptRow]: ...

    def page(self, before: int | None, limit: int, *, holding: bool) -> list[StoredReceipt]:
        """The newest first, those made before a key, but for recoveries; or those that hold something in the trash."""

    def held(self, keys: Collection[int]) -> dict[int, Held]:
        """What each of these holds, if it holds something."""


class ReceiptRows(ReceiptReads, Protocol):
    def not_purged(self, before: datetime) -> list[ReceiptRow]:
        """Those made up to a moment whose trash was not freed yet, the oldest first."""

    def add(self, receipt: NewReceipt) -> int:
        """The key of a new one."""

    def set_undone(self, key: int, at: datetime) -> None: ...

    def set_purged(self, keys: Collection[int], at: datetime) -> None: ...
