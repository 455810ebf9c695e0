"""What is there already that a new text seems to repeat or to contradict: the nearest few, judged."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from memsweep.model.memory import NewChunk, Similar
from memsweep.model.search import Filters
from memsweep.model.text import excerpt
from memsweep.remember.agreement import Said, judged, may_be_judged, said

if TYPE_CHECKING:
    from memsweep.store.protocol import Store

_NEAR = 0.25  # short statements that differ in a name may have no more in common by meaning
_DEPTH = 6
_SHOWN_CHARACTERS = 120


def similar_to(store: Store, chunk: NewChunk, besides: Collection[str] = ()) -> tuple[Similar, ...]:
    """Memories that a text seems to repeat or to contradict, the nearest first; never code, nor those in `besides`."""
    if not may_be_judged(chunk.text):
        return ()
    near = [each for each in store.candidates("", chunk.vector, Filters(), _DEPTH) if each.similarity >= _NEAR]
    near.sort(key=lambda each: -each.similarity)
    passages, new = store.passages([each.key for each in near]), Said(chunk.text)
    notes = [passages[each.key] for each in near if each.key in passages and passages[each.key].code is None]
    found: dict[str, Similar] = {}
    for note in notes:
        if note.memory_id in besides or (old := said(note.text)) is None or (judgement := judged(new, old)) is None:
            continue
        shown = Similar(note.memory_id, excerpt(note.text, _SHOWN_CHARACTERS), judgement.kind, judgement.differs)
        found.setdefault(note.memory_id, shown)
    return tuple(found.values())
