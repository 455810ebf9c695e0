"""Answers about quarantine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.memory import Memory


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
