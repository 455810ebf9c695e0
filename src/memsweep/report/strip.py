"""A window as a strip and its stash as answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memsweep.model.text import excerpt
from memsweep.model.times import iso
from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.window import StashPage, WindowStrip


class StripAnswer(TypedDict):
    tokens_before: int
    tokens_after: int
    counted_by: str
    budget: int
    soft_tokens: int
    hard_tokens: int
    segments: list[dict[str, Any]]
    stashed: int
    shortfall: int
    message: str


class StashAnswer(TypedDict):
    segments: list[dict[str, Any]]
    first: int
    total: int
    next_cursor: str | None


def strip(found: WindowStrip) -> StripAnswer:
    return {
        "tokens_before": found.change.tokens_before,
        "tokens_after": found.change.tokens_after,
        "counted_by": found.change.counted_by,
        "budget": found.budget,
        "soft_tokens": found.soft_tokens,
        "hard_tokens": found.hard_tokens,
        "segments": [{**asdict(each), "keep_score": round(each.keep_score, 3)} for each in found.segments],
        "stashed": found.stashed,
        "shortfall": found.shortfall,
        "message": " ".join((found.reason, *found.notes)),
    }


def stash(page: StashPage) -> StashAnswer:
    segments = [
        {
            "segment_id": each.segment_id,
            "type": each.type,
            "role": each.role,
            "tokens": each.tokens,
            "pinned": each.pinned,
            "created_at": iso(each.created_at),
            "text": excerpt(each.text),
            "origin": page.origins[each.segment_id].brief if each.segment_id in page.origins else "",
        }
        for each in page.segments
    ]
    return {"segments": segments, "first": page.first, "total": page.total, "next_cursor": page.next_cursor}
