"""Embed a workspace anew with the current model, while others go on reading and writing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memsweep.embed.protocol import Embedder, quantise
from memsweep.store.protocol import Store

Progress = Callable[[int, int], None]
_BATCH = 256  # that are staged in one transaction
_STEP = 64  # between two reports of progress
_LAST = 64  # so many may be embedded while writers wait


def reembed(store: Store, embedder: Embedder, progress: Progress) -> int:
    """Stage a vector for every chunk, then switch. A stopped run goes on where it was. Returns the chunks embedded.

    Chunks that are added meanwhile still get a vector of the old model. The last few are embedded by the
    switch itself, while nobody can write: so it comes to an end however busy the writers are, and sees
    all or nothing.
    """
    model, done, total = embedder.model, 0, 0

    def embed(texts: Sequence[str]) -> list[bytes]:
        nonlocal done
        vectors = []
        for start in range(0, len(texts), _STEP):
            step = texts[start : start + _STEP]
            vectors += quantise(embedder.embed(step))
            done += len(step)
            progress(done, max(done, total))
        return vectors

    while missing := store.keeper.switch(model, embed, _LAST):
        total = done + missing
        progress(done, total)
        while len(batch := store.keeper.unstaged(model, _BATCH)) > _LAST:
            vectors = embed([text for _, text in batch])
            store.keeper.stage(zip((key for key, _ in batch), vectors, strict=True), model)
    return done
