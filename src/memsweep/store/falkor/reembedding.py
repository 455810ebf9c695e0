"""Vectors of another model are staged beside the current ones and take their place in one transaction."""

from __future__ import annotations

from collections.abc import Iterable

from memsweep.model.workspace import EmbeddingModel
from memsweep.store.falkor import cypher
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.writing import encoded, set_model
from memsweep.store.ports.memories import Embed

_LABELS = ("Chunk", "TrashedChunk")


class FalkorReembedding:
    """Implements `memsweep.store.ports.memories.Reembedding`."""

    def __init__(self, graph: GraphHandle, vectors: VectorSet) -> None:
        self._graph, self._vectors = graph, vectors

    def unstaged(self, model: EmbeddingModel, limit: int) -> list[tuple[int, str]]:
        self._begin(model)
        with self._graph.writing() as tx:
            return _unstaged(tx, limit)

    def stage(self, vectors: Iterable[tuple[int, bytes]], model: EmbeddingModel) -> None:
        self._begin(model)
        with self._graph.writing() as tx:
            _stage(tx, vectors)

    def switch(self, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
        self._begin(model)
        before = self._graph.meta()["generation"]
        with self._vectors.writing() as tx:
            missing = _switch(tx, model, embed, at_most)
        if missing == 0:
            self._vectors.close(before)
        return missing

    def _begin(self, model: EmbeddingModel) -> None:
        """A stage that was begun with this model goes on; one of another model is thrown away."""
        label = f"{model.name} {model.dimension}"
        if self._graph.meta().get("staged_model") != label:
            with self._graph.writing() as tx:
                tx.do(cypher.DROP_STAGED, [0])
                tx.set_meta(staged_model=label)


def _unstaged(tx: Transaction, limit: int) -> list[tuple[int, str]]:
    rows = tx.ask_all(*((cypher.unstaged(label), {"limit": limit}) for label in _LABELS))
    return sorted((key, text) for found in rows for key, text in found)[:limit]


def _stage(tx: Transaction, vectors: Iterable[tuple[int, bytes]]) -> None:
    tx.do(cypher.STAGE, [{"key": key, "data": encoded(data)} for key, data in vectors])


def _switch(tx: Transaction, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
    """Take the staged vectors once every chunk has one; how many have none if they are too many to add them now."""
    missing = sum(found[0][0] for found in tx.ask_all(*((cypher.count_unstaged(label), {}) for label in _LABELS)))
    if missing > at_most:
        return int(missing)
    if rest := _unstaged(tx, missing) if missing else []:
        _stage(tx, zip((key for key, _ in rest), embed([text for _, text in rest]), strict=True))
    tx.do(cypher.DROP_EMBEDDINGS, [0])
    tx.do(cypher.TAKE_STAGED, [0])
    tx.set_meta(generation=tx.meta["generation"] + 1, staged_model=None)
    set_model(tx, model)
    return 0
