"""One line of the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memsweep.model.frozen import field, frozen


@frozen
class AuditEvent:
    """An event of the log: who did what, when and why."""

    at: datetime
    actor: str
    action: str
    subject: str
    counts: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    ids: tuple[str, ...] = ()
    """The memories and entities that it happened to; of a large act that was read again, only some of them."""
