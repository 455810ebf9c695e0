"""What is there already that a new text seems to repeat or to contradict: the nearest few, judged."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from memsweep.model.memory import NewChunk, Similar
from memsweep.model.search import Filters
from memsweep.model.text import excerpt
from memsweep.remember.agreement import judged, may_be_judged, said

if TYPE_CHECKING:
    from memsweep.store.protocol import Store

_NEAR = 0.25  # short statements that differ in a name may have no more in common by meaning
_SHARED = 0.6  # of the words of the shorter text; below that no rule applies, and judging costs more than counting
_DEPTH = 6
_SHOWN_CHARACTERS = 120


_WORD = re.compile(r"\w+")


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))


def similar_to(store: Store, chunk: NewChunk, besides: Collection[str] = ()) -> tuple[Similar, ...]:
    """Memories that a text seems to repeat or to contradict, the nearest first; never code, nor those in `besides`."""
    if not may_be_judged(chunk.text):
        return ()
    near = [each for each in store.candidates("", chunk.vector, Filters(), _DEPTH) if each.similarity >= _NEAR]
    near.sort(key=lambda each: -each.similarity)
    passages, words = store.passages([each.key for each in near]), _words(chunk.text)
    notes = [passages[each.key] for each in near if each.key in passages and passages[each.key].code is None]
    alike = [note for note in notes if note.memory_id not in besides and _share(words, _words(note.text)) >= _SHARED]
    new = said(chunk.text) if alike else None
    found: dict[str, Similar] = {}
    for note in alike:
        if new is None or (old := said(note.text)) is None or (judgement := judged(new, old)) is None:
            continue
        shown = Similar(note.memory_id, excerpt(note.text, _SHOWN_CHARACTERS), judgement.kind, judgement.differs)
        found.setdefault(note.memory_id, shown)
    return tuple(found.values())
