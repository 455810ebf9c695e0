"""The audit log: who did what, when and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memsweep.model.frozen import field, frozen

if TYPE_CHECKING:
    from memsweep.model.workspace import Workspace


@frozen
class AuditEvent:
    """An event of the log: who did what, when and why."""

    at: datetime
    actor: str
    action: str
    subject: str
    counts: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    ids: tuple[str, ...] = ()
    """The memories and entities that it happened to; of a large act that was read again, only some of them."""


def events_in(counts: Mapping[str, Any]) -> int:
    """Return how many events one of the log stands for: old ones are let go but for their sums."""
    number = counts.get("let_go", 1)
    return number if type(number) is int else 1


@frozen
class AuditQuery:
    """A query for events: all that is given must apply."""

    subject: str | None = None
    """An id that they are about."""
    action: str = ""
    actor: str = ""
    """Who did it, or the door: `mcp` is also everybody who came through it, such as `mcp:claude-code`."""
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    """The key of an event: only those that were written before it."""


@frozen
class AuditPage:
    events: Sequence[AuditEvent]
    next_cursor: str | None = None


@frozen
class Trashed:
    """Something in the trash: what, why, since when, until when at least."""

    kind: str
    id: str
    name: str
    receipt_id: str
    strategy: str
    reason: str
    trashed_at: datetime
    path: str = ""
    """Of an indexed file, below its folder."""


@frozen
class TrashPage:
    """A part of the trash of a workspace, and the deleted workspaces beside it."""

    items: Sequence[Trashed]
    total: int
    deleted: Sequence[Workspace] = ()
    in_use: frozenset[str] = frozenset()
    """Names of live workspaces: a deleted one cannot come back under them."""


@frozen
class Purged:
    receipts: tuple[str, ...]
    memories: int
    chunks: int
    entities: int
    relations: int
    segments: int = 0
    notes: tuple[str, ...] = ()
    """Where something of it may still be."""
    revisions: int = 0
    """What memories were before they were changed."""


@frozen
class Tombstone:
    """Keeps something forgotten for good from being learned again."""

    memory_id: str
    at: datetime
    reason: str
