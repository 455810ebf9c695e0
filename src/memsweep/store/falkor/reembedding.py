"""Vectors of another model are staged beside the current ones and take their place in one transaction."""

from __future__ import annotations

from collections.abc import Iterable

from memsweep.model.workspace import EmbeddingModel
from memsweep.store.falkor import cypher
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.falkor.writing import encoded, set_model
from memsweep.store.ports.memories import Embed

_LABELS = ("Chunk", "TrashedChunk")


def unstaged(tx: Transaction, limit: int) -> list[tuple[int, str]]:
    rows = tx.ask_all(*((cypher.unstaged(label), {"limit": limit}) for label in _LABELS))
    return sorted((key, text) for found in rows for key, text in found)[:limit]


def stage(tx: Transaction, vectors: Iterable[tuple[int, bytes]]) -> None:
    tx.do(cypher.STAGE, [{"key": key, "data": encoded(data)} for key, data in vectors])


def switch(tx: Transaction, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
    """Take the staged vectors once every chunk has one; how many have none if they are too many to add them now."""
    missing = sum(found[0][0] for found in tx.ask_all(*((cypher.count_unstaged(label), {}) for label in _LABELS)))
    if missing > at_most:
        return int(missing)
    if rest := unstaged(tx, missing) if missing else []:
        stage(tx, zip((key for key, _ in rest), embed([text for _, text in rest]), strict=True))
    tx.do(cypher.DROP_EMBEDDINGS, [0])
    tx.do(cypher.TAKE_STAGED, [0])
    tx.set_meta(generation=tx.meta["generation"] + 1, staged_model=None)
    set_model(tx, model)
    return 0


def begun(meta_label: str | None, model: EmbeddingModel) -> bool:
    """Whether a stage is of this model; one of another model is thrown away."""
    return meta_label == label_of(model)


def label_of(model: EmbeddingModel) -> str:
    return f"{model.name} {model.dimension}"


def start(tx: Transaction, model: EmbeddingModel) -> None:
    tx.do(cypher.DROP_STAGED, [0])
    tx.set_meta(staged_model=label_of(model))
