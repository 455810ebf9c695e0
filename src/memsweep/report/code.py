"""Answers about the code index, and counts of what is stored by day and by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memsweep.model.times import iso
from memsweep.report import Answer, fields

if TYPE_CHECKING:
    from memsweep.model.code import CodeOverview, CodeRoot, IndexResult
    from memsweep.model.counts import Counts


def indexed(result: IndexResult) -> Answer:
    answer = fields(result)
    warnings = answer.pop("warnings")
    return {**answer, "message": _message(result), **({"warnings": warnings} if warnings else {})}


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
    return fields(counts)


def code_overview(found: CodeOverview) -> Answer:
    runs = [{"at": iso(each.at), "actor": each.actor, **each.counts} for each in found.runs]
    return {"roots": [_root(each) for each in found.roots], "runs": runs}


def _root(root: CodeRoot) -> dict[str, Any]:
    return fields(root, "path", "files", "languages", "lines", "stale_files", "verified_at", "scopes")
