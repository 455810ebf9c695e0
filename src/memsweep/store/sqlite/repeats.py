"""A text that is said again: what is added to the memory that has it, and by whom. Inside the caller's transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import apsw

from memsweep.model.columns import decoder
from memsweep.model.memory import CODE_SOURCE, MemoryDraft, NewMemory, Remembered
from memsweep.model.memory_act import stated_in
from memsweep.model.origin import Origin
from memsweep.model.revision import MemoryText
from memsweep.model.times import to_micros
from memsweep.store.repeats import Repeat, say_again
from memsweep.store.sqlite import sql
from memsweep.store.sqlite.memory_acts import SqliteMemoryActs
from memsweep.store.sqlite.origins import origin_key
from memsweep.store.sqlite.rows import SqliteRows
from memsweep.store.sqlite.writing import add_names, logged, supersede
from memsweep.store.things.memories import MemoryRow


def knows_hash(db: apsw.Connection, content_hash: bytes) -> bool:
    return db.execute(sql.KNOWS_HASH, (content_hash,)).fetchone() is not None


def touch_existing(
    db: apsw.Connection, draft: MemoryDraft, content_hash: bytes, now: datetime, origin: Origin
) -> str | None:
    """Mark a live memory with the same text in the same thread as seen, with what the new one adds to it."""
    if (existing := _touched(db, draft, content_hash, now)) is None:
        return None
    Repeat(SqliteMemoryActs(db), existing, draft, content_hash, now).note(origin_key(db, origin))
    return existing.id


def add_to_existing(db: apsw.Connection, new: NewMemory) -> Remembered | None:
    """The same, with what the caller named and stated beside it."""
    if (existing := _touched(db, new.draft, new.content_hash, new.now)) is None:
        return None
    repeat = Repeat(SqliteMemoryActs(db), existing, new.draft, new.content_hash, new.now)
    rows: list[Any] = db.execute(sql.CHUNK_KEYS, (existing.id,)).fetchall()
    origin = origin_key(db, new.origin)
    carrier = stated_in(existing, [key for (key,) in rows], len(new.chunks), origin)
    created, _, places = add_names(db, new, new.explicit_mentions, carrier)
    supersede(db, existing.key, new, origin)
    repeat.note(origin, places)
    return logged(db, new, Remembered(existing.id, 0, len(created), duplicate_of=existing.id), created)


def _touched(db: apsw.Connection, draft: MemoryDraft, content_hash: bytes, now: datetime) -> MemoryText | None:
    """As it was before."""
    if not knows_hash(db, content_hash):
        return None
    wanted = {"hash": content_hash, "thread": draft.thread_id, "text": draft.text, "code_source": CODE_SOURCE}
    found: Any = db.execute(sql.FIND_SAME_TEXT, wanted).fetchone()
    if found is None:
        return None
    row: MemoryRow = decoder(MemoryRow, "file")(found)
    existing = say_again(SqliteRows(db), row, draft, now)
    db.executemany(sql.ADD_TAG, [(tag, row.key) for tag in draft.tags])
    db.execute(sql.TOUCH_MENTIONED, (to_micros(now), row.key))
    return existing
