"""Answers of the context collector: tokens before and after, and reasons, in every one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from memsweep.model.text import counted, excerpt
from memsweep.model.times import iso
from memsweep.report import Answer

if TYPE_CHECKING:
    from memsweep.model.origin import Origin
    from memsweep.model.segment import ContextSegment, PruningCandidate
    from memsweep.model.window import (
        Added,
        Analyzed,
        Configured,
        Gone,
        StashFound,
        StashPage,
        Swept,
        WindowChange,
        WindowRow,
        WindowStrip,
        WorkingSet,
    )


_SHOWN_CHARS = 200
_MOST_LISTED = 50
"""More than these would crowd the window that was swept; the counts are those of all."""


def added(result: Added) -> Answer:
    return {
        "segment_ids": list(result.segment_ids),
        "known": list(result.known),
        "stashed": _gone(result.stashed),
        "receipt_id": result.receipt_id,
        "notes": list(result.notes),
        **_tokens(result.change),
    }


def analyzed(result: Analyzed, *, include_scores: bool = True) -> Answer:
    usage = {
        "current": result.change.tokens_before,
        "soft": result.soft_tokens,
        "hard": result.hard_tokens,
        "by_type": dict(result.tokens_by_type),
    }
    shown = [
        _candidate(each, result.texts.get(each.segment_id, ""), each.segment_id in result.planned, include_scores)
        for each in result.candidates
    ]
    return {
        "usage": usage,
        "candidates": shown,
        "plan_id": result.plan_id,
        "planned": len(result.planned),
        "shortfall": result.shortfall,
        "message": " ".join((result.reason, *result.notes)),
        **_tokens(result.change),
    }


def pruned(result: Swept) -> Answer:
    return {
        "stashed": _gone(result.stashed),
        "deleted": _gone(result.deleted),
        "refused": _refused(result),
        "receipt_id": result.receipt_id,
        "message": _what_went(result),
        **_tokens(result.change),
    }


def pinned(result: Swept, flag: bool) -> Answer:
    return {
        "segment_ids": list(result.pinned),
        "texts": {own: result.texts[own] for own in result.pinned if own in result.texts},
        "pinned": flag,
        "refused": _refused(result),
        **_tokens(result.change),
    }


def configured(result: Configured) -> Answer:
    return {"config": dict(result.config), **_tokens(result.change)}


def found(result: StashFound) -> Answer:
    return {
        "results": [
            {**_hit(segment, score, segment.segment_id in result.beside), **_from(segment, result.origins)}
            for segment, score in result.hits
        ],
        "stash_size": result.stashed,
        **_tokens(result.change),
    }


def restored(result: Swept) -> Answer:
    added = result.change.tokens_after - result.change.tokens_before
    return {
        "restored": [{**_segment(segment), **_from(segment, result.origins)} for segment in result.restored],
        "refused": _refused(result),
        "message": f"Restored {_segments(len(result.restored))} to the window ({counted(added, 'token')}).",
        **_tokens(result.change),
    }


def compressed(result: Swept) -> Answer:
    return {
        "summary_id": result.summary_id,
        "stashed": _gone(result.stashed),
        "refused": _refused(result),
        "receipt_id": result.receipt_id,
        "message": " ".join((_what_went(result), *result.notes)),
        **_tokens(result.change),
    }


def windows(rows: Iterable[WindowRow]) -> Answer:
    return {"windows": [row._asdict() for row in rows]}


def working_set(result: WorkingSet) -> Answer:
    return {
        "segments": [_segment(segment) for segment in result.segments],
        "left_out": result.left_out,
        "shortfall": result.shortfall,
        **_tokens(result.change),
    }


def _tokens(change: WindowChange) -> Answer:
    return {
        "tokens_before": change.tokens_before,
        "tokens_after": change.tokens_after,
        "counted_by": change.counted_by,
    }


def _candidate(candidate: PruningCandidate, text: str, planned: bool, include_scores: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "segment_id": candidate.segment_id,
        "text": text,
        "type": candidate.type,
        "tokens": candidate.tokens,
        "reachable": candidate.reachable,
        "reasons": list(candidate.reasons),
        "action": candidate.action,
        "planned": planned,
    }
    if include_scores:
        shown["keep_score"] = round(candidate.keep_score, 3)
    return shown


def _gone(gone: Iterable[Gone]) -> list[dict[str, Any]]:
    return [
        {"segment_id": each.segment_id, "text": each.text, "tokens": each.tokens, "reasons": list(each.reasons)}
        for each in islice(gone, _MOST_LISTED)
    ]


def _refused(result: Swept) -> list[dict[str, str]]:
    """Each with its reason, and how it begins if it is known."""
    return [
        {"segment_id": own, **({"text": result.texts[own]} if own in result.texts else {}), "reason": reason}
        for own, reason in result.refused.items()
    ]


def _hit(segment: ContextSegment, score: float, beside: bool) -> dict[str, Any]:
    shown = {**_segment(segment, _SHOWN_CHARS), "score": round(score, 3)}
    return {**shown, "beside_a_hit": True} if beside else shown


def _segment(segment: ContextSegment, chars: int | None = None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "segment_id": segment.segment_id,
        "type": segment.type,
        "tokens": segment.tokens,
        "created_at": iso(segment.created_at),
        "text": segment.text if chars is None or len(segment.text) <= chars else segment.text[:chars] + "…",
    }
    for name in ("role", "file_path", "task_id"):
        if getattr(segment, name) is not None:
            shown[name] = getattr(segment, name)
    if segment.pinned:
        shown["pinned"] = True
    return shown


def _from(segment: ContextSegment, origins: Mapping[str, Origin]) -> dict[str, str]:
    """Return the origin of a segment in a few words; empty if unknown."""
    found = origins.get(segment.segment_id)
    return {} if found is None else {"origin": found.brief}


def _what_went(result: Swept) -> str:
    freed = result.change.tokens_before - result.change.tokens_after
    parts = [f"Stashed {_segments(len(result.stashed))}."] if result.stashed else []
    parts += [f"Moved {_segments(len(result.deleted))} to the trash."] if result.deleted else []
    text = f"{' '.join(parts) or 'Nothing was moved.'} Freed {counted(freed, 'token')}."
    if result.refused:
        text += f" Refused {_segments(len(result.refused))}."
    if max(len(result.stashed), len(result.deleted)) > _MOST_LISTED:
        text += f" The first {_MOST_LISTED} are listed."
    return text


def _segments(count: int) -> str:
    return counted(count, "segment")


def strip(found: WindowStrip) -> Answer:
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


def stash(page: StashPage) -> Answer:
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
