"""Saved plans as an engine keeps them: a head, and the items in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from memsweep.model.plan import PlanItem


@dataclass(frozen=True, slots=True)
class NewPlan:
    """The head of a plan, before it has a key."""

    id: str
    strategy: str
    created_at: datetime
    expires_at: datetime
    digest: str
    summary: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SavedPlan:
    key: int
    head: NewPlan
    receipt_id: str | None
    """The receipt of its use, once it was used."""


class PlanReads(Protocol):
    def get(self, plan_id: str) -> SavedPlan | None: ...

    def items(self, plan: int, offset: int = 0, limit: int | None = None) -> list[PlanItem]: ...


class PlanRows(PlanReads, Protocol):
    def add(self, head: NewPlan, items: Sequence[PlanItem]) -> int:
        """The key of a new one."""

    def use(self, plan: int, receipt: int) -> None: ...

    def drop_unused(self, expired_before: datetime) -> None: ...
