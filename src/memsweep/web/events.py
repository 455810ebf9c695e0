"""The audit log in the words of the page: what was done, to how much, by whom; runs of the same are told once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memsweep.model.audit import AuditEvent, events_in
from memsweep.web.plan_sections import strategy_name
from memsweep.web.words import counted

# Title, icon, and whether something came, went or neither.
_TITLES = {
    "add": ("Remembered", "plus", "made"),
    "relate": ("Facts stated", "graph", "made"),
    "supersede": ("Superseded", "swap", ""),
    "update": ("Edited", "edit", ""),
    "index": ("Code indexed", "code", "made"),
    "plan": ("Planned", "sweep", ""),
    "narrow": ("Part of a plan", "sweep", ""),
    "delete": ("Deleted", "trash", "went"),
    "clear": ("Cleared", "trash", "went"),
    "trash": ("Moved to the trash", "trash", "went"),
    "undo": ("Undone", "undo", ""),
    "recover": ("Restored", "undo", ""),
    "purge": ("Purged", "trash", "went"),
    "skip": ("Left alone", "shield", ""),
    "pin": ("Pinned", "pin", ""),
    "unpin": ("Unpinned", "pin", ""),
    "release": ("Released from quarantine", "shield", ""),
    "merge": ("Merged", "graph", ""),
    "unmerge": ("Split off", "graph", ""),
    "context": ("Context", "window", ""),
    "backup": ("Backed up", "care", ""),
    "repair": ("Repaired", "care", ""),
    "secrets": ("Secrets redacted", "shield", "went"),
    "import_graph": ("Graph imported", "graph", "made"),
}
_BY = {"cli": "command line", "mcp": "MCP", "page": "this page", "hook": "hook", "library": "library"}
_COUNTED = ("memories", "chunks", "entities", "relations", "segments", "stashed")
_NOUNS = {
    "memories": ("memory", "memories"),
    "chunks": ("chunk",),
    "names": ("name",),
    "facts": ("fact",),
    "segments": ("segment",),
}
_IN_RUNS = ("add", "relate", "context")
_OF_NAMES = ("merge", "unmerge")
"""Are about a name, and have a receipt."""


@dataclass(frozen=True, slots=True)
class EventLine:
    """A line of the history."""

    at: datetime
    title: str
    what: str
    by: str
    icon: str
    direction: str
    subject: str
    action: str
    counts: Mapping[str, int]
    times: int = 1
    receipt: str = ""
    """Of what has another subject."""

    @property
    def plan_id(self) -> str:
        return self.subject if self.subject.startswith("plan_") else ""

    @property
    def receipt_id(self) -> str:
        return self.subject if self.subject.startswith("rcpt_") else self.receipt

    @property
    def memory_id(self) -> str:
        return self.subject if self.subject.startswith("mem_") and self.times == 1 else ""


def event_lines(events: Iterable[AuditEvent]) -> list[EventLine]:
    """One line for what somebody did again and again, with the newest moment."""
    lines: list[EventLine] = []
    for event in events:
        line = _line(event)
        before = lines[-1] if lines else None
        if before and line.action in _IN_RUNS and (line.action, line.by) == (before.action, before.by):
            counts = {name: before.counts.get(name, 0) + line.counts.get(name, 0) for name in _COUNTED}
            lines[-1] = replace(before, counts=counts, what=_amounts(counts), times=before.times + line.times)
        else:
            lines.append(line)
    return lines


def _line(event: AuditEvent) -> EventLine:
    title, icon, direction = _TITLES.get(event.action, (event.action.replace("_", " ").capitalize(), "clock", ""))
    if event.action == "prune":
        title, icon, direction = strategy_name(event.reason), "trash", "went"
    elif event.action == "plan" and event.reason:
        title = f"{strategy_name(event.reason)} planned"
    counts = {name: value for name in _COUNTED if isinstance(value := event.counts.get(name), int)}
    return EventLine(
        event.at,
        title,
        _amounts(counts),
        who(event.actor),
        icon,
        direction,
        event.subject,
        event.action,
        counts,
        times=events_in(event.counts),
        receipt=event.reason if event.action in _OF_NAMES and event.reason.startswith("rcpt_") else "",
    )


def who(actor: str) -> str:
    """Through which door somebody came, and who that was."""
    door, _, name = actor.partition(":")
    if not name or (door == "page" and name == "memsweep"):
        return _BY.get(door, door)
    return name if door == "mcp" else f"{name}, {_BY.get(door, door)}"


def _amounts(counts: Mapping[str, Any]) -> str:
    """The names of the page: entities are names, relations are facts."""
    words = {
        "memories": counts.get("memories", 0),
        "chunks": 0 if counts.get("memories") else counts.get("chunks", 0),
        "names": counts.get("entities", 0),
        "facts": counts.get("relations", 0),
        "segments": counts.get("segments", 0) or counts.get("stashed", 0),
    }
    return ", ".join(counted(value, *_NOUNS[name]) for name, value in words.items() if value)
