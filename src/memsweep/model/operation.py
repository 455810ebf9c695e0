"""The context of every change of a workspace: who makes it, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memsweep.model.audit import AuditEvent
from memsweep.model.decay import Rates
from memsweep.model.merging import Strength, joined
from memsweep.model.plan import Totals, counts_of


@dataclass(frozen=True, slots=True)
class Operation:
    actor: str
    now: datetime
    rates: Rates = field(default_factory=Rates)

    def join(self, kept: Strength, other: Strength) -> Strength:
        """Of two facts that are one now, the stronger counts as of this moment."""
        return joined(kept, other, self.rates.edge, self.now)

    def event(
        self,
        action: str,
        subject: str,
        counts: Mapping[str, Any] | None = None,
        reason: str = "",
        ids: Iterable[str] = (),
    ) -> AuditEvent:
        return AuditEvent(self.now, self.actor, action, subject, counts or {}, reason, tuple(ids))

    def counted(
        self, action: str, subject: str, totals: Totals, reason: str = "", ids: Iterable[str] = ()
    ) -> AuditEvent:
        return self.event(action, subject, counts_of(totals, segments=True), reason, ids)
