"""Memories in other forms than they have: what has to be known to write them, and the texts that they had before.

Reads and decides first, writes last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.collector.chunk_moves import follow, noted
from memsweep.collector.contributed_memories import by_memory, earlier_texts, said_in_place_of
from memsweep.collector.earlier_texts import EarlierTexts, Embed
from memsweep.model.plan import Selection
from memsweep.model.revision import MEMORY, MemoryState, MemoryText, Place, Revision, as_retraction, before_of, remade
from memsweep.model.times import to_micros

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes

CHANGED = "changed since the plan was made"
Lost = Mapping[int, Collection[Place]]
"""What a memory, in another form, mentions no more."""


class Form(NamedTuple):
    """A memory as it is and as it will be; with what its chunks will be, if its text is another then."""

    now: MemoryText
    after: MemoryText
    earlier: Mapping[str, Any] | None = None
    returns: bool = False
    """It is in the trash of a receipt that goes on holding what it was, and leaves it."""

    @property
    def is_other(self) -> bool:
        return self.after != self.now


class Forms:
    """Decided one by one."""

    def __init__(
        self, tx: Changes, memories: Iterable[int], doing: Operation, going: Collection[int] = frozenset()
    ) -> None:
        self._tx, self._at, self._going = tx, to_micros(doing.now), going
        keys = set(memories)
        self.rows = tx.texts.at(keys) if keys else {}
        self.journal = by_memory(tx.acts.of_memories(keys) if keys else [])
        self._texts = earlier_texts(tx.revisions.of_items(MEMORY, keys) if keys else [])
        self._model = tx.texts.model() if keys else None
        self.made: list[Form] = []

    def make(self, row: MemoryText, was: MemoryState | None, will: MemoryState | None, *, returns: bool = False) -> str:
        """Give a memory another form; why that cannot be, or nothing."""
        if will is None:
            return CHANGED
        after, earlier = remade(row, was, will), None
        lives = row.trash is None or returns
        if will.text != row.content_hash.hex():
            earlier = self._texts.get((row.key, will.text))
            if earlier is None:
                return "its earlier text was purged"
            after = after._replace(text=earlier["text"])
            if lives and (other := said_in_place_of(self._tx, after, self._going)) is not None:
                return f"the same text was added again as {other}"
        if lives and (earlier or returns) and (gone := self._tx.tombstones.why_gone({row.key: after.text})):
            return gone[row.key]
        if after != row:
            after = after._replace(updated_at=self._at, version=row.version + 1)
        self.made.append(Form(row, after, earlier, returns))
        return ""

    def read(self, embed: Embed, lost: Lost) -> None:
        """The last that has to be known before anything is written."""
        self._lost = lost
        changed = [form for form in self.made if form.earlier is not None]
        befores = {form.now.key: form.earlier for form in changed if form.earlier is not None}
        self._old = noted(self._tx, self._tx.texts.pieces([form.now.key for form in changed])) if changed else {}
        self._earlier = EarlierTexts(self._tx, befores, embed, lost, self._old)

    def write(self, receipt: int) -> None:
        """Under a receipt, which keeps the texts that were there until now, if nothing else does."""
        self._write([form for form in self.made if not form.returns], receipt)

    def bring_back(self) -> None:
        """Out of the trash of the receipts that hold them, which keep the texts that were there until now."""
        returning = [form for form in self.made if form.returns]
        for form in returning:
            assert form.now.trash is not None, "what comes back is in the trash"
            if chunks := self._write([form], form.now.trash):
                self._tx.trash.restore(Selection({form.now.key}, set(chunks)))

    def _write(self, forms: Sequence[Form], receipt: int) -> list[int]:
        """The keys of new chunks."""
        self._tx.revisions.add(self._revisions(forms, receipt))
        self._tx.trash.restore(Selection(entities=self._earlier.returning if forms else set()))
        chunks: list[int] = []
        for form in forms:
            if form.is_other:
                pieces = None if form.earlier is None else self._earlier.pieces(form.now.key)
                written = self._tx.texts.write(form.after, pieces)
                follow(self._tx, pieces or (), written)
                chunks += written
        return chunks

    def _revisions(self, forms: Iterable[Form], receipt: int) -> Iterator[Revision]:
        for form in forms:
            if form.earlier is not None and (form.now.key, form.now.content_hash.hex()) not in self._texts:
                kept = before_of(form.now, form.after, self._old[form.now.key], self._model)
                yield Revision(receipt, MEMORY, form.now.key, self._at, as_retraction(kept))
