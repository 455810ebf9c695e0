"""Answers that list memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

from memsweep.model.text import counted
from memsweep.model.times import iso
from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.listing import ListedMemory, MemoryPage


class ListedAnswer(TypedDict):
    memories: list[dict[str, Any]]
    first: int
    total: int
    next_cursor: str | None
    note: NotRequired[str]


def listed(page: MemoryPage) -> ListedAnswer:
    answer: ListedAnswer = {
        "memories": [_memory(each) for each in page.memories],
        "first": page.first,
        "total": page.total,
        "next_cursor": page.next_cursor,
    }
    if page.damaged:
        answer["note"] = (
            f"Left out {counted(page.damaged, 'damaged memory', 'damaged memories')}: run `memsweep doctor`."
        )
    return answer


def _memory(listed: ListedMemory) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "memory_id": listed.id,
        "kind": listed.kind,
        "text": listed.text,
        "characters": listed.length,
        "tags": list(listed.tags),
        "source": listed.source,
        "created_at": iso(listed.created_at),
        "origin": listed.origin.brief,
    }
    if listed.path is not None:
        shown |= {"path": listed.path, "language": listed.language}
    if listed.expires_at is not None:
        shown["expires_at"] = iso(listed.expires_at)
    if listed.expired:
        shown["expired"] = True
    shown |= {name: True for name in ("stale", "pinned", "superseded") if getattr(listed, name)}
    return {**shown, "quarantine": f"Search leaves it out {listed.quarantine}."} if listed.quarantine else shown
