"""Looking after one graph: examine, repair, compact, copy.

Vectors of another model are staged beside the current ones, and take their place in one transaction.

What must hold in a workspace is written once, as checks on a workspace file; so the graph is examined as
the file that a backup of it would be.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from memsweep.errors import StoreCorrupt
from memsweep.model.care import Compaction, Finding, Seal
from memsweep.model.memory import NewPiece
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.falkor import care_cypher, cypher, mending, saving, structure, values, writing
from memsweep.store.falkor.auditing import add_event
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.writing import encoded, set_model
from memsweep.store.file import copying as sealing
from memsweep.store.file import health
from memsweep.store.file.connect import plain_errors, snapshot
from memsweep.store.file.mending import CHANGES_VECTORS, repaired
from memsweep.store.ports.memories import Embed

_LABELS = ("Chunk", "TrashedChunk")
_OF_FILES = {"structure_changed", "index_damaged", "page_lost"}
"""What the file that is made for looking may have, and the graph has not."""


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


class FalkorKeeper(FalkorReembedding):
    """Implements `memsweep.store.ports.care.Keeper`."""

    def __init__(self, workspace_id: str, graph: GraphHandle, vectors: VectorSet) -> None:
        super().__init__(graph, vectors)
        self._workspace_id = workspace_id

    def examine(self) -> list[Finding]:
        if damaged := [each.place for each in values.find(self._graph)]:
            return health.finding("value_damaged", damaged)
        try:
            with self._as_file() as db:
                found = health.examine(db, values_are_sound=True)
        except (apsw.ConstraintError, KeyError, TypeError, ValueError) as error:
            return [Finding("file_damaged", 1, (f"{self._graph.name}: {error}",))]
        found = [each for each in found if each.invariant not in _OF_FILES]
        found += health.finding("structure_changed", structure.missing(self._graph))
        found += health.finding("words_differ", [uid for _, uid, _ in mending.differing_words(self._graph)])
        # What a writer that died after its transaction left behind is not astray: the next one catches up.
        if self._vectors.astray(self._graph.meta()["generation"]):
            found += health.finding("vector_file_differs", [f"the vector set of {self._graph.name}"])
        return found

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> list[str]:
        """Apply one cure. What is no part of the graph itself is made again from it."""
        if cure in CHANGES_VECTORS:
            self._vectors.forget(self._graph.meta()["generation"])
        if cure == "structure":
            structure.make(self._graph)
        with self._graph.writing(afterwards=lambda meta: self._vectors.catch_up(meta["generation"])) as tx:
            lost, ids = values.mend(tx, to_micros(now)) if cure == "values" else ([], ())
            if cure == "words":
                mending.mend_words(tx)
            elif cure not in {"structure", "vector_files", "values"}:
                ids = mending.mend(tx, cure, actor, now)
            add_event(tx, repaired(cure, found, actor, now, ids))
        return lost

    def explain(self) -> StoreCorrupt | None:
        return values.explain(self._graph)

    def chunkless(self) -> list[tuple[int, str]]:
        return [(key, text) for key, text, _ in self._graph.ask(care_cypher.CHUNKLESS) if text.strip()]

    def add_chunks(
        self, chunks: Mapping[int, Sequence[NewPiece]], found: Sequence[Finding], *, actor: str, now: datetime
    ) -> None:
        with self._graph.writing() as tx:
            left = {key: uid for key, _, uid in tx.ask(care_cypher.CHUNKLESS) if key in chunks}
            for key in left:
                writing.add_pieces(tx, key, chunks[key])
            tx.do(care_cypher.READ_ANEW, list(left))
            add_event(tx, repaired("chunks", found, actor, now, tuple(left.values())))

    def unfit_chunks(self) -> list[tuple[int, str]]:
        model = writing.model_of(self._graph.meta())
        length = len(writing.encoded(bytes(model.dimension))) if model else 0
        asked = ((care_cypher.of(care_cypher.UNFIT, label=label), {"length": length}) for label in _LABELS)
        return [(key, text) for rows in self._graph.ask_all(*asked) for key, text in rows]

    def fit_vectors(
        self,
        vectors: Iterable[tuple[int, bytes]],
        model: EmbeddingModel,
        found: Sequence[Finding],
        *,
        actor: str,
        now: datetime,
    ) -> None:
        self._vectors.forget(self._graph.meta()["generation"])
        with self._graph.writing(afterwards=lambda meta: self._vectors.catch_up(meta["generation"])) as tx:
            writing.claim_model(tx, model)
            rows = [{"key": key, "data": writing.encoded(data)} for key, data in vectors]
            tx.do(care_cypher.FIT_EMBEDDING, rows)
            add_event(tx, repaired("embed", found, actor, now))

    def compact(self) -> Compaction:
        """The server gives back what it can; there is no file of ours to shrink."""
        before = self._size_bytes()
        self._graph.link.at_node_of(self._graph.name, "MEMORY", "PURGE")
        return Compaction(before, self._size_bytes(), True)

    def copy(self, draft: Path, named: Path, version: str, now: datetime, progress: CopyProgress | None = None) -> Seal:
        progress = progress or CopyProgress()
        with _folder(progress) as folder, plain_errors(named):
            rows = saving.save(self._graph, folder / "rows.db", progress)
            with contextlib.closing(rows), snapshot(rows.db):
                return sealing.copy(rows.db, draft, version, now)

    @contextmanager
    def _as_file(self) -> Iterator[apsw.Connection]:
        with (
            _folder(CopyProgress()) as folder,
            contextlib.closing(saving.save(self._graph, folder / "rows.db", CopyProgress())) as rows,
        ):
            yield rows.unmark()

    def _size_bytes(self) -> int:
        return self._graph.size_bytes() + self._vectors.size_bytes(self._graph.meta()["generation"])


@contextmanager
def _folder(progress: CopyProgress) -> Iterator[Path]:
    if progress.folder is not None:
        yield progress.folder
        return
    with tempfile.TemporaryDirectory(prefix="memsweep-") as name:
        yield Path(name)
