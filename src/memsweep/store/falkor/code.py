"""Code files in a graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter

from memsweep.store.code_files import CodeFiles
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.vectors import VectorSet


class FalkorCodeFiles(CodeFiles):
    def __init__(self, graph: GraphHandle, vectors: VectorSet) -> None:
        super().__init__(FalkorRows(graph), attrgetter("path"))
        self._vectors = vectors

    @contextmanager
    def _writing(self) -> Iterator[FalkorRows]:
        with self._vectors.writing() as tx:
            yield FalkorRows(tx)
            self._vectors.announce(tx.meta["generation"], tx.freed_chunks)
        if tx.freed_chunks:
            self._vectors.dismiss(tx.meta["generation"])
