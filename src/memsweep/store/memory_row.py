"""A memory from its row, which both engines read with the same columns in the same order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memsweep.model.memory import Memory, NamedThing, Superseding, code_file, last_seen
from memsweep.model.origin import stored_origin
from memsweep.model.stored import expect, expect_or_null, mapping
from memsweep.model.times import from_micros, moment_or_none

_ORIGIN = 6  # fields


def memory_of(
    row: Sequence[Any],
    tags: Sequence[str],
    *,
    things: Iterable[Sequence[Any]],
    changes: tuple[int, int | None],
    older: Iterable[Sequence[Any]],
    newer: Iterable[Sequence[Any]],
) -> Memory:
    """`changes` are how often it was revised and when last; `older` and `newer` are ids with times."""
    *of_memory, path, root, language, lines, verified, released = row[:-_ORIGIN]
    _, uid, text, _, source, metadata, thread, *times, stale, pinned, version, chunk_count = of_memory
    created, updated, seen, expires = times
    expect(str, uid, text, source, *tags)
    expect_or_null(str, thread)
    revisions, revised = changes
    return Memory(
        id=uid,
        text=text,
        tags=tuple(tags),
        source=source,
        metadata=mapping(metadata),
        thread_id=thread,
        created_at=from_micros(created),
        updated_at=from_micros(updated),
        last_seen_at=from_micros(last_seen(created, seen, stale=bool(stale), verified_at=verified)),
        expires_at=moment_or_none(expires),
        stale=bool(stale),
        pinned=bool(pinned),
        version=version,
        chunk_count=chunk_count,
        entities=tuple(NamedThing(name, kind) for name, kind in things),
        code=code_file(path, root, language, lines, verified),
        released_at=moment_or_none(released),
        origin=stored_origin(*row[-_ORIGIN:]),
        revisions=revisions,
        revised_at=moment_or_none(revised),
        supersedes=_chain(older),
        superseded_by=_chain(newer),
    )


def _chain(rows: Iterable[Sequence[Any]]) -> tuple[Superseding, ...]:
    return tuple(Superseding(uid, from_micros(at)) for uid, at in rows)
