"""Answers about the code index, and counts of what is stored by day and by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memsweep.model.times import iso
from memsweep.report import Answer

if TYPE_CHECKING:
    from datetime import datetime

    from memsweep.model.code import CodeOverview, CodeRoot, IndexResult
    from memsweep.model.counts import Counts


def indexed(result: IndexResult) -> Answer:
    answer: Answer = {
        "repo_path": result.repo_path,
        "files_seen": result.files_seen,
        "files_indexed": result.files_indexed,
        "files_unchanged": result.files_unchanged,
        "files_moved": result.files_moved,
        "files_removed": result.files_removed,
        "files_unreadable": result.files_unreadable,
        "functions_found": result.functions_found,
        "classes_found": result.classes_found,
        "languages": dict(result.languages),
        "total_lines": result.total_lines,
        "chunks_embedded": result.chunks_embedded,
        "stale_memories": result.stale_memories,
        "processing_time_ms": result.processing_time_ms,
        "message": _message(result),
    }
    return {**answer, "warnings": list(result.warnings)} if result.warnings else answer


def _message(result: IndexResult) -> str:
    """Return the message of an index run: totals, and the files that could not be read or became stale."""
    languages = ", ".join(f"{name.capitalize()} ({count})" for name, count in sorted(result.languages.items()))
    lines = [
        "Repository indexed successfully.",
        f"Path: {result.repo_path}",
        f"Files indexed: {result.files_indexed}",
        *(f"Files {what}: {count}" for what, count in _others(result) if count),
        f"Functions: {result.functions_found}",
        f"Classes: {result.classes_found}",
        f"Languages: {languages or 'None'}",
        f"Total lines: {result.total_lines:,}",
        f"Indexing time: {result.processing_time_ms / 1000:.2f}s",
    ]
    if result.files_unreadable:
        lines.append(f"Files that could not be read, left as they were: {result.files_unreadable}")
    if result.stale_memories:
        lines.append(f"Stale memories detected: {result.stale_memories} (run prune_memory to clean up)")
    return "\n".join(lines)


def _others(result: IndexResult) -> tuple[tuple[str, int], ...]:
    return ("unchanged", result.files_unchanged), ("moved", result.files_moved), ("removed", result.files_removed)


def counted_by_day(counts: Counts) -> Answer:
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


def code_overview(found: CodeOverview) -> Answer:
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
