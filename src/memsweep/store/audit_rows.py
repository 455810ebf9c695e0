"""An audit event as it is stored: its counts, and with them the ids that it is found by.

What happened to many is kept in several rows: the first is the event, the others repeat it with the rest of the ids.
Whoever lists events passes those over; whoever asks for an id gets the one row that has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memsweep.model.audit_event import AuditEvent
from memsweep.model.ids import findable
from memsweep.model.stored import expect, mapping, to_json
from memsweep.model.times import micros_or_none, to_micros
from memsweep.store.things.collected import AuditRow

if TYPE_CHECKING:
    from memsweep.model.audit import AuditQuery
    from memsweep.store.rows import Rows

IDS_IN_A_ROW = 200
"""About 4 KB: a list of events reads as much of each."""
REST = '{"rest":'
"""How the counts of a row begin that only has more ids of the event before it."""


def log(rows: Rows, *events: AuditEvent) -> None:
    """Add events to the audit log."""
    rows.add([row for event in events for row in rows_of(event)])


def rows_of(event: AuditEvent) -> Iterator[AuditRow]:
    """Yield the rows of an event."""
    for counts in _counts_of(event):
        yield AuditRow(to_micros(event.at), event.actor, event.action, event.subject, counts, event.reason)


def _counts_of(event: AuditEvent) -> Iterator[Mapping[str, Any]]:
    ids = sorted(set(event.ids))
    if event.subject in event.ids:  # in the first row, or who asks for it would get two
        ids.remove(event.subject)
        ids.insert(0, event.subject)
    yield {**event.counts, **_kept(ids[:IDS_IN_A_ROW])}
    for start in range(IDS_IN_A_ROW, len(ids), IDS_IN_A_ROW):
        yield {"rest": start, **event.counts, **_kept(ids[start : start + IDS_IN_A_ROW])}


def needle(item_id: object) -> str:
    """Return text that the counts of every row with this id contain, and of no other."""
    return to_json(f"={findable(item_id)}")


def wanted(asked: AuditQuery) -> dict[str, Any]:
    """Return the values of a query for events."""
    return {
        "subject": None if asked.subject is None else findable(asked.subject),
        "needle": None if asked.subject is None else needle(asked.subject),
        "rest": REST,
        "action": asked.action,
        "actor": asked.actor,
        "since": micros_or_none(asked.since),
        "until": micros_or_none(asked.until),
        "before": asked.before,
    }


def event_of(at: datetime, actor: str, action: str, subject: str, counts: str, reason: str) -> AuditEvent:
    """A row as the event it tells of."""
    said = mapping(counts)
    said.pop("rest", None)
    ids = said.pop("ids", [])
    expect(str, *ids)
    return AuditEvent(at, actor, action, subject, said, reason, tuple(each[1:] for each in ids))


def _kept(ids: Sequence[str]) -> dict[str, list[str]]:
    """With a sign before each, so that nothing else in the JSON can be taken for an id."""
    return {"ids": [f"={each}" for each in ids]} if ids else {}
