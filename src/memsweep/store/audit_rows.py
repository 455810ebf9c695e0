"""The audit log: events as rows, with the ids that they are found by. Once, over the rows of any engine.

What happened to many is kept in several rows: the first is the event, the others repeat it with the rest of the ids.
Whoever lists events passes those over; whoever asks for an id gets the one row that has it.

Old events are let go. Of what somebody did on one day, one action at a time, the first row stays in its place and says
how often that was and how much; it names no ids and no subject.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memsweep.model.audit import AuditEvent, events_in
from memsweep.model.ids import findable
from memsweep.model.text import expect, to_json
from memsweep.model.times import from_micros, to_micros
from memsweep.store.rows import Find, RowReads, Rows, Where
from memsweep.store.things.collected import AuditRow

if TYPE_CHECKING:
    from memsweep.model.audit import AuditQuery

IDS_IN_A_ROW = 200
"""About 4 KB: a list of events reads as much of each."""
_REST = '{"rest":'
"""How the counts of a row begin that only has more ids of the event before it; they are nowhere else."""
_EVENT: Where = ("counts", "lacks", _REST)
_HEAD = '{"let_go":'
"""How the counts of a row begin that stands for events that were let go."""
_OLD: tuple[Where, ...] = (("action", "<>", "backup"), ("action", "lacks", "import_"), ("counts", "lacks", _HEAD))
_DAY = 24 * 60 * 60 * 1_000_000


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


def events(rows: RowReads, limit: int, asked: AuditQuery) -> list[tuple[int, AuditEvent]]:
    """Return the newest events first, each with its key."""
    always = [*_always(asked)]
    reads = [
        Find(AuditRow, (*by, *about, *always), newest=True, limit=limit)
        for by in _actors(asked.actor)
        for about in _subjects(asked.subject)
    ]
    found = {row.key: row for answer in rows.ask(*reads) for row in answer}
    return [(key, _event_of(found[key])) for key in sorted(found, reverse=True)[:limit]]


def _always(asked: AuditQuery) -> Iterator[Where]:
    yield "key", ">", 0
    if asked.before is not None:
        yield "key", "<", asked.before
    if asked.action:
        yield "action", "=", asked.action
    if asked.since is not None:
        yield "at", ">=", to_micros(asked.since)
    if asked.until is not None:
        yield "at", "<=", to_micros(asked.until)


def _actors(actor: str) -> list[tuple[Where, ...]]:
    """Return the conditions of which one must be met: somebody, or everybody who came through that door."""
    if not actor:
        return [()]
    return [(("actor", "=", actor),), (("actor", "begins", f"{actor}:"),)]


def _subjects(subject: str | None) -> list[tuple[Where, ...]]:
    """Return the same for what events are about: it, or many among which it is."""
    if subject is None:
        return [(_EVENT,)]
    among: Where = ("counts", "has", to_json(f"={findable(subject)}"))
    return [(("subject", "=", findable(subject)), _EVENT), (among,)]


def _event_of(row: AuditRow) -> AuditEvent:
    expect(str, row.actor, row.action, row.subject, row.reason)
    said: dict[str, Any] = dict(row.counts)
    said.pop("rest", None)
    ids = said.pop("ids", [])
    expect(str, *ids)
    at = from_micros(row.at)
    return AuditEvent(at, row.actor, row.action, row.subject, said, row.reason, tuple(each[1:] for each in ids))


def _kept(ids: Sequence[str]) -> Mapping[str, list[str]]:
    """With a sign before each, so that nothing else in the JSON can be taken for an id."""
    return {"ids": [f"={each}" for each in ids]} if ids else {}


def let_go(rows: Rows, before: int, most: int) -> bool:
    """Drop so many rows of old events but for their sums; return whether more may be left."""
    (old,) = rows.ask(Find(AuditRow, (("at", "<", before), *_OLD), limit=most))
    if old:
        days = sorted(row.at - row.at % _DAY for row in old)
        then: tuple[Where, ...] = (("at", ">=", days[0]), ("at", "<", days[-1] + _DAY), ("counts", "has", _HEAD))
        heads = heads_of(rows.ask(Find(AuditRow, (("key", "<", old[-1].key), *then)))[0], old)
        said = {row.key: (row.at, row.subject, row.counts, row.reason) for row in heads}
        rows.free(AuditRow, ("key", "in", {row.key for row in old} - said.keys()))
        rows.change(AuditRow, ("at", "subject", "counts", "reason"), said)
    return len(old) == most


def heads_of(known: Iterable[AuditRow], old: Iterable[AuditRow]) -> list[AuditRow]:
    """Return one row for all that somebody did on a day of one action: the one that is known, or the first."""
    groups: dict[tuple[int, str, str], list[AuditRow]] = defaultdict(list)
    for row in (*known, *(row for row in old if "rest" not in row.counts)):
        groups[row.at // _DAY, row.actor, row.action].append(row)
    return [_head(each) for each in groups.values() if any("let_go" not in row.counts for row in each)]


def _head(events: Sequence[AuditRow]) -> AuditRow:
    number, first = sum(events_in(row.counts) for row in events), min(row.at for row in events)
    begin, end = _written(first), max(str(row.counts.get("until", _written(row.at))) for row in events)
    sums: dict[str, Any] = {"let_go": number, "until": end}
    for name, value in (pair for row in events for pair in row.counts.items()):
        if type(value) in (int, float) and name != "let_go":
            sums[name] = sums.get(name, 0) + value
    times = f"from {begin[11:19]} to {end[11:19]}" if number > 1 else f"at {begin[11:19]}"
    said = f"{number:,} event{'s' * (number > 1)} of this day, {times} UTC, let go since; the counts are added up"
    return events[0]._replace(at=first, subject="", counts=sums, reason=said)


def _written(at: int) -> str:
    """Return a moment as a text that sorts as it does."""
    return from_micros(at).isoformat(timespec="microseconds")
