"""The status of a project, in words and as an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.model.plan import counts_of
from memsweep.model.text import counted
from memsweep.model.times import iso
from memsweep.report import Answer, as_json, fields, nonzero
from memsweep.report.place import where

if TYPE_CHECKING:
    from datetime import datetime

    from memsweep.services.projects import ProjectStatus


def status(found: ProjectStatus) -> Answer:
    stats = found.stats
    return {
        "where": where(found.whereabouts),
        "entities": stats.total_entities if stats else 0,
        "relations": stats.total_relations if stats else 0,
        "stale_memories": stats.stale_memories if stats else 0,
        "newest": iso(stats.newest) if stats and stats.newest else None,
        "index": as_json(found.roots),
        "strategies": list(found.strategies),
        "would_take": counts_of(found.would_take),
        **fields(found, "git_hooks", "hooks", "deleted_by_clients", "hooks_on"),
    }


def lines(found: ProjectStatus) -> list[str]:
    """Return the lines that a person reads below those of `where`."""
    said = []
    if (stats := found.stats) is not None:
        graph = f"{counted(stats.total_entities, 'entity', 'entities')}, {counted(stats.total_relations, 'relation')}"
        said.append(f"stored     {counted(stats.total_memories, 'memory', 'memories')}, {graph}")
        if stats.newest:
            said.append(f"newest     {_ago(stats.newest, found.now)}")
    said += [
        f"index      {root.path}: {counted(root.files, 'file')},"
        f" {f'compared with the disk {_ago(root.verified_at, found.now)}' if root.verified_at else 'not finished'}"
        for root in found.roots
    ]
    if stats is not None:
        said.append(f"collection {_taken(found)}")
    if found.git_hooks:
        installed = [name for name, state in found.git_hooks.items() if state.startswith("installed")]
        said.append(f"git hooks  {', '.join(installed) or 'not installed; `memsweep hooks install`'}")
    said += [
        f"hook       {each.hook}: {counted(each.runs, 'run')}, the last {_ago(each.last_at, found.now)},"
        f" median {each.median_ms:,} ms, slowest {each.slowest_ms:,} ms"
        + (f", {each.failures:,} failed" if each.failures else "")
        for each in found.hooks
    ]
    said += [
        f"deleted    {counted(count, 'memory file')} of {client} by others; `memsweep adopt {client}` shows them"
        for client, count in found.deleted_by_clients.items()
    ]
    if not found.hooks_on:
        said.append("hooks      those of agents' clients are off; `memsweep hooks on` (with `--here` for one project)")
    return said


def _taken(found: ProjectStatus) -> str:
    amounts, by = ", ".join(nonzero(counts_of(found.would_take) | {"chunks": 0})), ", ".join(found.strategies)
    return f"would take {amounts} ({by}); `memsweep prune` shows them" if amounts else f"would take nothing ({by})"


def _ago(moment: datetime, now: datetime) -> str:
    seconds = max(0, int((now - moment).total_seconds()))
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(seconds // size, unit)} ago"
    return "just now"
