"""Answers about the code index."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired

from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.code import IndexResult


class IndexAnswer(TypedDict):
    repo_path: str
    files_seen: int
    files_indexed: int
    files_unchanged: int
    files_moved: int
    files_removed: int
    files_unreadable: int
    functions_found: int
    classes_found: int
    languages: dict[str, int]
    total_lines: int
    chunks_embedded: int
    stale_memories: int
    processing_time_ms: float
    message: str
    warnings: NotRequired[list[str]]


def indexed(result: IndexResult) -> IndexAnswer:
    answer: IndexAnswer = {
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
