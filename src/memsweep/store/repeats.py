"""A text that is said: the row of a new memory, or what one becomes that has it; and what is written down of it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from memsweep.model.memory import MemoryDraft, NewMemory
from memsweep.model.revision import AGAIN, MemoryAct, MemoryText, Mentioned, Place, first_said, now_said, said_again
from memsweep.model.times import to_micros
from memsweep.store.memory_acts import MemoryActRows
from memsweep.store.rows import Rows
from memsweep.store.things.memories import MEMORY, MemoryRow


def acts_before(acts: MemoryActRows, memory: MemoryText, text: str) -> tuple[list[MemoryAct], MemoryAct]:
    """Return the acts on a memory so far, and the first statement of it if that was not written down."""
    known = acts.of_memories([memory.key])
    return known, first_said(memory, text, Mentioned() if known else acts.own_mentions(memory.key))


_SETTABLE = tuple(name for name, column in MEMORY.columns.items() if column.settable)


def _said(draft: MemoryDraft) -> dict[str, Any]:
    """Return what callers set, as the columns have it."""
    values = {name: getattr(draft, name) for name in _SETTABLE}
    return {name: to_micros(value) if isinstance(value, datetime) else value for name, value in values.items()}


def row_of(new: NewMemory, thread: int | None, origin: int | None, key: int = 0) -> MemoryRow:
    now = to_micros(new.now)
    return MemoryRow(
        **_said(new.draft),
        id=new.id,
        thread=thread,
        created_at=now,
        updated_at=now,
        last_seen_at=now,
        stale=False,
        content_hash=new.content_hash,
        version=1,
        trash=None,
        origin=origin,
        released_at=None,
        key=key,
    )


def say_again(rows: Rows, row: MemoryRow, draft: MemoryDraft, now: datetime) -> MemoryText:
    """Change a memory whose text is said again; returns it as it was before."""
    at, last = to_micros(now), row.created_at if row.last_seen_at is None else row.last_seen_at
    after = {
        name: AGAIN[MEMORY.columns[name].again](getattr(row, name), said, at) for name, said in _said(draft).items()
    }
    changed = {name: value for name, value in after.items() if value != getattr(row, name)}
    changed["last_seen_at"] = max(last, at)
    rows.change(MemoryRow, tuple(changed), {row.key: tuple(changed.values())}, bin="live")
    return MemoryText(*(getattr(row, name) for name in MemoryText._fields))


class Repeat:
    """Made before anything is added to the memory; noted once everything is."""

    def __init__(
        self, acts: MemoryActRows, memory: MemoryText, draft: MemoryDraft, content_hash: bytes, now: datetime
    ) -> None:
        self._acts, self._memory, self._draft, self._now = acts, memory, draft, now
        self._text = content_hash.hex()
        self._before = acts_before(acts, memory, self._text)

    def note(self, origin: int | None, mentions: Collection[Place] = ()) -> None:
        """`mentions` are those of what was named beside the text."""
        again = now_said(self._memory.key, self._draft, self._text, to_micros(self._now), origin, mentions)
        self._acts.add(said_again(*self._before, again))
