"""Counts by day and by where things came from, and indexed folders, as answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memsweep.model.times import iso
from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from datetime import datetime

    from memsweep.model.code import CodeOverview, CodeRoot
    from memsweep.model.counts import Counts


class CountsAnswer(TypedDict):
    days: list[dict[str, Any]]
    sources: dict[str, int]
    tags: dict[str, int]
    tiers: dict[str, int]
    clients: dict[str, int]
    doors: dict[str, int]
    languages: dict[str, int]
    states: dict[str, int]


class CodeAnswer(TypedDict):
    roots: list[dict[str, Any]]
    runs: list[dict[str, Any]]


def counted_by_day(counts: Counts) -> CountsAnswer:
    return {
        "days": [{**day._asdict(), "day": day.day.isoformat()} for day in counts.days],
        "sources": dict(counts.sources),
        "tags": dict(counts.tags),
        "tiers": dict(counts.tiers),
        "clients": dict(counts.clients),
        "doors": dict(counts.doors),
        "languages": dict(counts.languages),
        "states": dict(counts.states),
    }


def code_overview(found: CodeOverview) -> CodeAnswer:
    runs = [{"at": iso(each.at), "actor": each.actor, **each.counts} for each in found.runs]
    return {"roots": [_root(each) for each in found.roots], "runs": runs}


def _root(root: CodeRoot) -> dict[str, Any]:
    return {
        "path": root.path,
        "files": root.files,
        "languages": dict(root.languages),
        "lines": root.lines,
        "stale_files": root.stale_files,
        "verified_at": _when(root.verified_at),
        "scopes": [
            {"filters": each.filters, "runs": each.runs, "verified_at": _when(each.verified_at)} for each in root.scopes
        ],
    }


def _when(moment: datetime | None) -> str | None:
    return iso(moment) if moment else None
