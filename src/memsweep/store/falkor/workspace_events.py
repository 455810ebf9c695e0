"""The deletion and the return of a workspace, written into its own audit log.

They wait in the entry of the workspace, or in what is kept of it while it is deleted, for a script can change those at
once with the state. An event that is in the log already is not written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from memsweep.model.audit import AuditEvent
from memsweep.model.times import to_micros
from memsweep.store.falkor import gc_cypher
from memsweep.store.falkor.auditing import add_event
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.workspace_events import from_fields


def waiting_in(entry: Mapping[str, str]) -> list[Any]:
    """Return the events that the entry of a live workspace has yet to pass on."""
    found = json.loads(entry.get("events", "[]"))
    return found if isinstance(found, list) else []


def write(graph: GraphHandle, events: Iterable[Any]) -> None:
    with graph.writing() as tx:
        known = [event for fields in events if (event := from_fields(fields)) is not None]
        for event in known:
            if not tx.ask(gc_cypher.COUNT_EVENTS, **_about(event))[0][0]:
                add_event(tx, AuditEvent(event.at, event.actor, event.action, event.subject, {}, event.reason))


def _about(event: AuditEvent) -> dict[str, Any]:
    return {"subject": event.subject, "at": to_micros(event.at), "action": event.action, "reason": event.reason}
