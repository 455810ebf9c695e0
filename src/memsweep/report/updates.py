"""Answers about a memory that was changed: what it is now, what it was, and that search finds it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NotRequired

from memsweep.model.text import counted
from memsweep.model.times import iso
from memsweep.report.memory import SecretsMet, secrets_met
from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.memory import Memory
    from memsweep.model.revision import EarlierText, Updated


class UpdatedAnswer(SecretsMet):
    memory_id: str
    version: int
    receipt_id: str | None
    message: str
    withdrawn: NotRequired[list[str]]


class HistoryAnswer(TypedDict):
    memory_id: str
    earlier: list[dict[str, Any]]


def updated(result: Updated) -> UpdatedAnswer:
    answer: UpdatedAnswer = {
        "memory_id": result.memory_id,
        "version": result.version,
        "receipt_id": result.receipt_id,
        "message": _updated(result),
    }
    if result.withdrawn:
        answer["withdrawn"] = list(result.withdrawn)
    return {**answer, **secrets_met(result)}


def _updated(result: Updated) -> str:
    if result.receipt_id is None:
        return f"{result.memory_id} is like that already; nothing was changed."
    lost = len(result.withdrawn)
    facts = f" It no longer states {counted(lost, 'fact')}, which left with the old text." if lost else ""
    return f"Updated {result.memory_id}.{facts} undo_prune with {result.receipt_id} brings back what it was."


def earlier(memory_id: str, found: Sequence[EarlierText]) -> HistoryAnswer:
    """Return the earlier texts of a memory, the newest first."""
    shown = [
        {
            "until": iso(each.until),
            "receipt_id": each.receipt_id,
            "text": each.text,
            "tags": list(each.tags),
            "metadata": dict(each.metadata),
        }
        for each in found
    ]
    return {"memory_id": memory_id, "earlier": shown}


class ReleaseAnswer(TypedDict):
    memory_id: str
    message: str


class ReleasedFactAnswer(TypedDict):
    relation_id: str
    message: str


def released_fact(relation_id: str) -> ReleasedFactAnswer:
    message = f"Released {relation_id}: searches, queries and briefings find it from now on."
    return {"relation_id": relation_id, "message": message}


def released(memory: Memory) -> ReleaseAnswer:
    return {"memory_id": memory.id, "message": f"Released {memory.id}: search finds it from now on."}
