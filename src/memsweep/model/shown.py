"""The values that answers show of a memory: one for a whole memory, a line of a listing and a passage."""

from __future__ import annotations

from datetime import datetime

from memsweep.model.frozen import frozen
from memsweep.model.origin import Origin


@frozen
class CodePlace:
    """The file that a memory is of, when it was last seen to be so, and of a passage the symbol in it."""

    path: str
    file_path: str
    language: str
    lines: int
    verified_at: datetime | None
    symbol: str = ""
    kind: str = ""


@frozen
class ShownMemory:
    """The parts of a memory that every answer shows, by the names of its columns."""

    tags: tuple[str, ...]
    source: str
    created_at: datetime
    updated_at: datetime
    last_seen_at: datetime
    """When it was last remembered, recalled, or found on disk."""
    expires_at: datetime | None
    stale: bool
    pinned: bool
    released_at: datetime | None
    """When somebody let it out of quarantine."""
    thread_id: str | None
    origin: Origin
    code: CodePlace | None
