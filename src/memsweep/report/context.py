"""Answers of the context collector: tokens before and after, and reasons, in every one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from memsweep.model.text import counted, excerpt
from memsweep.report import Answer, fields, filled

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
        WindowRow,
        WindowStrip,
        WorkingSet,
    )


_SHOWN_CHARS = 200
_MOST_LISTED = 50
"""More than these would crowd the window that was swept; the counts are those of all."""


def added(result: Added) -> Answer:
    return {
        **fields(result, "segment_ids", "known"),
        "stashed": _gone(result.stashed),
        **fields(result, "receipt_id", "notes"),
        **fields(result.change),
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
        **fields(result.change),
    }


def pruned(result: Swept) -> Answer:
    return {
        "stashed": _gone(result.stashed),
        "deleted": _gone(result.deleted),
        "refused": _refused(result),
        "receipt_id": result.receipt_id,
        "message": _what_went(result),
        **fields(result.change),
    }


def pinned(result: Swept, flag: bool) -> Answer:
    return {
        "segment_ids": list(result.pinned),
        "texts": {own: result.texts[own] for own in result.pinned if own in result.texts},
        "pinned": flag,
        "refused": _refused(result),
        **fields(result.change),
    }


def configured(result: Configured) -> Answer:
    return {"config": dict(result.config), **fields(result.change)}


def found(result: StashFound) -> Answer:
    return {
        "results": [
            {**_hit(segment, score, segment.segment_id in result.beside), **_from(segment, result.origins)}
            for segment, score in result.hits
        ],
        "stash_size": result.stashed,
        **fields(result.change),
    }


def restored(result: Swept) -> Answer:
    added = result.change.tokens_after - result.change.tokens_before
    return {
        "restored": [{**_segment(segment), **_from(segment, result.origins)} for segment in result.restored],
        "refused": _refused(result),
        "message": f"Restored {_segments(len(result.restored))} to the window ({counted(added, 'token')}).",
        **fields(result.change),
    }


def compressed(result: Swept) -> Answer:
    return {
        "summary_id": result.summary_id,
        "stashed": _gone(result.stashed),
        "refused": _refused(result),
        "receipt_id": result.receipt_id,
        "message": " ".join((_what_went(result), *result.notes)),
        **fields(result.change),
    }


def windows(rows: Iterable[WindowRow]) -> Answer:
    return {"windows": [fields(row) for row in rows]}


def working_set(result: WorkingSet) -> Answer:
    return {
        "segments": [_segment(segment) for segment in result.segments],
        **fields(result, "left_out", "shortfall"),
        **fields(result.change),
    }


def _candidate(candidate: PruningCandidate, text: str, planned: bool, include_scores: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "segment_id": candidate.segment_id,
        "text": text,
        **fields(candidate, "type", "tokens", "reachable", "reasons", "action"),
        "planned": planned,
    }
    if include_scores:
        shown["keep_score"] = round(candidate.keep_score, 3)
    return shown


def _gone(gone: Iterable[Gone]) -> list[dict[str, Any]]:
    return [fields(each, "segment_id", "text", "tokens", "reasons") for each in islice(gone, _MOST_LISTED)]


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
        **fields(segment, "segment_id", "type", "tokens", "created_at"),
        "text": segment.text if chars is None or len(segment.text) <= chars else segment.text[:chars] + "…",
    }
    about = fields(segment, "role", "file_path", "task_id")
    shown |= {name: value for name, value in about.items() if value is not None}
    return shown | filled(segment, "pinned")


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
        **fields(found.change),
        **fields(found, "budget", "soft_tokens", "hard_tokens"),
        "segments": [{**fields(each), "keep_score": round(each.keep_score, 3)} for each in found.segments],
        **fields(found, "stashed", "shortfall"),
        "message": " ".join((found.reason, *found.notes)),
    }


def stash(page: StashPage) -> Answer:
    segments = [
        {
            **fields(each, "segment_id", "type", "role", "tokens", "pinned", "created_at"),
            "text": excerpt(each.text),
            "origin": page.origins[each.segment_id].brief if each.segment_id in page.origins else "",
        }
        for each in page.segments
    ]
    return {"segments": segments, **fields(page, "first", "total", "next_cursor")}
