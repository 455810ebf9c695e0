"""A passage from its row, which both engines read with the same columns in the same order. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memsweep.model.origin import stored_origin
from memsweep.model.search import Passage, code_place
from memsweep.model.stored import expect, expect_or_null
from memsweep.model.times import from_micros, moment_or_none


def passage_of(row: Sequence[Any], tags: tuple[str, ...]) -> Passage:
    """What is not of its type is refused: it is damaged, and cannot be shown."""
    key, chunk, memory, text, first_line, last_line, source, _, created_at, thread, stale, pinned, *rest = row
    seen, expires, *rest = rest
    expect(str, chunk, memory, text, source, *tags)
    expect_or_null(str, thread, *rest[:11])
    expect(int, first_line, last_line, +stale, +pinned)  # one engine has numbers for yes and no
    created = from_micros(created_at)
    return Passage(
        key=key,
        chunk_id=chunk,
        memory_id=memory,
        text=text,
        first_line=first_line,
        last_line=last_line,
        source=source,
        tags=tags,
        created_at=created,
        thread_id=thread,
        stale=bool(stale),
        pinned=bool(pinned),
        last_seen_at=created if seen == created_at else from_micros(seen),
        code=code_place(*rest[6:]),
        expires_at=moment_or_none(expires),
        origin=stored_origin(*rest[:6]),
    )
