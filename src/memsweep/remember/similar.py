"""What is there already that a new text seems to repeat or to contradict: the nearest few, judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from memsweep.errors import MemsweepError
from memsweep.model.memory import NewChunk, Similar
from memsweep.model.search import Filters
from memsweep.model.text import excerpt
from memsweep.remember.agreement import Said, judged, may_be_judged, said

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from memsweep.store.protocol import Store

_NEAR = 0.25  # short statements that differ in a name may have no more in common by meaning
_DEPTH = 6
_SHOWN_CHARACTERS = 120


Finding = Callable[[], tuple[Similar, ...]]


@contextmanager
def looking_for_similar(store: Store, chunk: NewChunk, own: str, besides: Collection[str]) -> Iterator[Finding]:
    """Look while the caller writes the memory `own`: most of a write is waiting for the disk.

    What was written stands, so a look that fails then is a look that finds nothing.
    """
    if not may_be_judged(chunk.text):
        yield tuple
        return
    try:
        look = _threads(os.getpid()).submit(similar_to, store, chunk, own, besides)
    except RuntimeError:  # the interpreter is ending, and starts no more threads
        known = similar_to(store, chunk, own, besides)
        yield lambda: known
        return

    def found() -> tuple[Similar, ...]:
        return () if isinstance(look.exception(), MemsweepError) else look.result()

    try:
        yield found
    finally:
        look.exception()  # wait: nobody may close the store before


def similar_to(store: Store, chunk: NewChunk, own: str, besides: Collection[str]) -> tuple[Similar, ...]:
    """Memories that a text seems to repeat or to contradict, the nearest first; never code, nor those in `besides`.

    The memory `own`, which the text becomes, may be there already.
    """
    depth = _DEPTH + 1 + len(besides)  # whether or not these can be found, the same others are
    near = [each for each in store.candidates("", chunk.vector, Filters(), depth) if each.similarity >= _NEAR]
    near.sort(key=lambda each: -each.similarity)
    passages, new = store.passages([each.key for each in near]), Said(chunk.text)
    read = [passages[each.key] for each in near if each.key in passages]
    others = [passage for passage in read if passage.memory_id != own and passage.memory_id not in besides]
    found: dict[str, Similar] = {}
    for note in others[:_DEPTH]:
        if note.code is not None or (old := said(note.text)) is None or (judgement := judged(new, old)) is None:
            continue
        shown = Similar(note.memory_id, excerpt(note.text, _SHOWN_CHARACTERS), judgement.kind, judgement.differs)
        found.setdefault(note.memory_id, shown)
    return tuple(found.values())


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """A forked child has none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(8, "similar")
