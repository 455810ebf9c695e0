"""The events of a workspace's deletion and return in its audit log, and the form in which they wait. Pure.

No engine can change what leads to a workspace and the workspace itself in one transaction. So the event is kept with
the change, and goes into the log of the workspace after it; whoever finds one waiting writes it, and it counts once.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from memsweep.model.audit_event import AuditEvent
from memsweep.model.times import from_micros, to_micros

_FIELDS = {"at": int, "actor": str, "action": str, "subject": str, "reason": str}
_NO_TIME = 1 << 53


def deleted(workspace_id: str, receipt_id: str, actor: str, now: datetime) -> AuditEvent:
    return AuditEvent(now, actor, "delete_workspace", workspace_id, reason=receipt_id)


def restored(workspace_id: str, receipt_id: str, actor: str, now: datetime) -> AuditEvent:
    return AuditEvent(now, actor, "restore_workspace", workspace_id, reason=receipt_id)


def to_fields(event: AuditEvent) -> dict[str, Any]:
    values = (to_micros(event.at), event.actor, event.action, event.subject, event.reason)
    return dict(zip(_FIELDS, values, strict=True))


def to_text(event: AuditEvent) -> str:
    """In ASCII, so that a damaged one can be told by its letters."""
    return json.dumps(to_fields(event))


def from_fields(fields: Any) -> AuditEvent | None:
    """None if it is damaged: then what happened is not known."""
    if not isinstance(fields, dict) or any(type(fields.get(name)) is not kind for name, kind in _FIELDS.items()):
        return None
    if not 0 <= fields["at"] < _NO_TIME:
        return None
    return AuditEvent(
        from_micros(fields["at"]), fields["actor"], fields["action"], fields["subject"], reason=fields["reason"]
    )
