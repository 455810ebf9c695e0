"""Answers of the doctor, of compact, backup and restore."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memsweep.model.care import Backup, Checkup, Compaction, Finding, Restored
from memsweep.model.text import counted
from memsweep.model.times import iso
from memsweep.report import Answer, fields
from memsweep.report.memory import replaced

if TYPE_CHECKING:
    from memsweep.model.workspace import EmbeddingModel

Say = Callable[[Finding], str]


def checked(result: Checkup, sentence: Say, next_step: Say) -> Answer:
    return {
        "workspace_id": result.workspace_id,
        "healthy": not result.left,
        "findings": [
            {**fields(each), "sentence": sentence(each), "next_step": next_step(each)} for each in result.findings
        ],
        **fields(result, "notes", "lost"),
        "stranded": [
            f"The project of workspace {name!r} is gone: {where}. If it was moved, `memsweep workspace adopt {name}` in"
            f" its new folder finds it again; `memsweep workspace delete {name}` moves it to the trash."
            for name, where in result.stranded
        ],
        "remarks": list(result.remarks),
        "message": _verdict(len(result.findings), len(result.left)),
    }


def compacted(workspace_id: str, result: Compaction) -> Answer:
    sizes = f"{size(result.bytes_before)} before, {size(result.bytes_after)} now"
    unfinished = " Another process is still reading the old state, so the file has not shrunk yet; compact again later."
    return {
        "workspace_id": workspace_id,
        **fields(result),
        "message": f"Workspace {workspace_id!r}: {sizes}.{'' if result.finished else unfinished}",
    }


def backed_up(result: Backup) -> Answer:
    seal = result.seal
    return {
        **fields(result, "path", "size_bytes"),
        **fields(seal, "workspace_id", "taken_at", "memories", "digest"),
        "message": f"Backed up workspace {seal.workspace_id!r} ({_memories(seal.memories)},"
        f" {size(result.size_bytes)}) to {result.path}.",
    }


def restored(result: Restored) -> Answer:
    seal = result.seal
    return {
        "workspace_id": result.workspace_id,
        **fields(seal, "memories", "taken_at"),
        "taken_from": seal.workspace_id,
        "digest": seal.digest,
        "receipt_id": result.receipt_id,
        "message": f"Restored {_memories(seal.memories)}, as they were in {seal.workspace_id!r} at"
        f" {iso(seal.taken_at)[:19]}, into workspace {result.workspace_id!r}.{replaced(result.receipt_id)}",
    }


def size(count: int) -> str:
    """Bytes as people say them."""
    for power, unit in ((9, "GB"), (6, "MB"), (3, "KB")):
        if count >= 10**power:
            return f"{count / 10**power:.1f} {unit}"
    return f"{count} bytes"


def _verdict(found: int, left: int) -> str:
    if not found:
        return "Healthy: every invariant holds."
    if not left:
        return f"Repaired {counted(found, 'problem')}; every invariant holds now."
    return f"{left} of {counted(found, 'problem')} left." if left < found else f"Found {counted(found, 'problem')}."


def _memories(count: int) -> str:
    return counted(count, "memory", "memories")


def reembedded(workspace_id: str, chunks: int, model: EmbeddingModel | None) -> Answer:
    return {"workspace_id": workspace_id, "chunks": chunks, "model": model.name if model else None}
