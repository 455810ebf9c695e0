"""Embed a workspace anew with the current model, while others go on reading and writing it."""

from __future__ import annotations

from collections.abc import Callable

from memsweep.embed.protocol import Embedder, quantise
from memsweep.store.protocol import Store

Progress = Callable[[int, int], None]
_BATCH = 256


def reembed(store: Store, embedder: Embedder, progress: Progress) -> int:
    """Stage a vector for every chunk, then switch. A stopped run goes on where it was. Returns the chunks embedded.

    Chunks that are added meanwhile still get a vector of the old model; they are found missing at the
    switch and staged in another round, and the switch itself sees all or nothing.
    """
    done = 0
    while missing := store.switch_model(embedder.model):
        while batch := store.unstaged(embedder.model, _BATCH):
            vectors = quantise(embedder.embed([text for _, text in batch]))
            store.stage_vectors(zip((key for key, _ in batch), vectors, strict=True), embedder.model)
            done += len(batch)
            progress(done, max(done, missing))
    return done
