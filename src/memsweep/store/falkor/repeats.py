"""A text that is said again: what is added to the memory that has it, and by whom. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memsweep.model.columns import decoder
from memsweep.model.memory import MemoryDraft, NewMemory, Remembered
from memsweep.model.memory_act import stated_in
from memsweep.model.origin import Origin
from memsweep.model.revision import MemoryText
from memsweep.model.times import to_micros
from memsweep.store.falkor import cypher, superseding
from memsweep.store.falkor.memory_acts import FalkorMemoryActs
from memsweep.store.falkor.origins import origin_key
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.falkor.writing import about_same_text, add_names, logged
from memsweep.store.repeats import Repeat, say_again
from memsweep.store.things.memories import MemoryRow


def touch_existing(tx: Transaction, draft: MemoryDraft, digest: bytes, now: datetime, origin: Origin) -> str | None:
    """Mark a live memory with the same text in the same thread as seen, with what the new one adds to it."""
    if (existing := _touched(tx, draft, digest, now)) is None:
        return None
    Repeat(FalkorMemoryActs(tx), existing, draft, digest, now).note(origin_key(tx, origin))
    return existing.id


def add_to_existing(tx: Transaction, new: NewMemory) -> Remembered | None:
    """The same, with what the caller named and stated beside it."""
    if (existing := _touched(tx, new.draft, new.content_hash, new.now)) is None:
        return None
    repeat = Repeat(FalkorMemoryActs(tx), existing, new.draft, new.content_hash, new.now)
    origin = origin_key(tx, new.origin)
    chunks = [key for (key,) in tx.ask(cypher.CHUNKS_OF_ID, id=existing.id)]
    created, places = add_names(tx, new, new.explicit_mentions, stated_in(existing, chunks, len(new.chunks), origin))
    superseding.supersede(tx, existing.key, new, origin)
    repeat.note(origin, places)
    return logged(tx, new, Remembered(existing.id, 0, len(created), duplicate_of=existing.id), created)


def _touched(tx: Transaction, draft: MemoryDraft, digest: bytes, now: datetime) -> MemoryText | None:
    """As it was before."""
    found, *thread = tx.ask_all(*about_same_text(draft, digest))
    if thread and not thread[0]:
        return None
    where = thread[0][0][0] if thread else None
    rows: Iterable[MemoryRow] = map(decoder(MemoryRow, "node"), found)
    row = next((row for row in rows if row.thread == where and row.text == draft.text), None)
    if row is None:
        return None
    existing = say_again(FalkorRows(tx), row, draft, now)
    tx.do(cypher.TOUCH_MENTIONED, [{"key": row.key, "at": to_micros(now)}])
    return existing
