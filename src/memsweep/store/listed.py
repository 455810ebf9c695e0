"""A memory of a listing, from the columns that every engine gives. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memsweep.model.listing import ListedMemory
from memsweep.model.origin import stored_origin
from memsweep.model.stored import expect, expect_or_null
from memsweep.model.times import from_micros, moment_or_none


def read_listed(row: Sequence[Any], tags_of: Callable[[Any], Sequence[str]]) -> ListedMemory | None:
    """None if it is damaged: the others can still be had."""
    try:
        return _listed(row, tags_of)
    except (TypeError, ValueError, ArithmeticError):
        return None


def _listed(row: Sequence[Any], tags_of: Callable[[Any], Sequence[str]]) -> ListedMemory:
    key, uid, text, length, tags, source, *times, stale, pinned, superseded, released, path, language = row[:15]
    created, updated, expires = times
    expect(str, uid, text, source)
    expect_or_null(str, path, language)
    return ListedMemory(
        key=key,
        id=uid,
        text=text,
        length=length,
        tags=tuple(tags_of(tags)),
        source=source,
        created_at=from_micros(created),
        updated_at=from_micros(updated),
        expires_at=moment_or_none(expires),
        stale=bool(stale),
        pinned=bool(pinned),
        superseded=bool(superseded),
        released_at=moment_or_none(released),
        path=path,
        language=language,
        origin=stored_origin(*row[15:]),
    )
