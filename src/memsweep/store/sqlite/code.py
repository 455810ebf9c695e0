"""Code files in a workspace file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter

from memsweep.store.code_files import CodeFiles
from memsweep.store.file.connect import Pool
from memsweep.store.sqlite.rows import PoolRows, SqliteRows


class SqliteCodeFiles(CodeFiles):
    def __init__(self, pool: Pool) -> None:
        super().__init__(PoolRows(pool), attrgetter("key"))
        self._pool = pool

    @contextmanager
    def _writing(self) -> Iterator[SqliteRows]:
        with self._pool.writing() as db:
            yield SqliteRows(db)
