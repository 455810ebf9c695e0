"""Context windows in a workspace file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import apsw

from memsweep.store.file.connect import Pool
from memsweep.store.rows import Find
from memsweep.store.sqlite import search_sql
from memsweep.store.sqlite.collector import SqliteItems
from memsweep.store.sqlite.rows import SqliteRows
from memsweep.store.windows import WindowParts, Windows
from memsweep.store.words import any_of, words_of

_MAX_QUERY_WORDS = 32


class SqliteWindows(Windows):
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @contextmanager
    def _read(self) -> Iterator[WindowParts]:
        with self._pool.reading() as db:
            yield _parts(db)

    @contextmanager
    def _change(self, *ahead: Find) -> Iterator[WindowParts]:
        with self._pool.writing() as db:
            yield _parts(db)


def _parts(db: apsw.Connection) -> WindowParts:
    return WindowParts(SqliteRows(db), SqliteItems(db), partial(_matches, db))


def _matches(db: apsw.Connection, window: int, query: str, count: int) -> dict[int, float]:
    words = words_of(query)[:_MAX_QUERY_WORDS]
    if not words:
        return {}
    values = {"window": window, "words": any_of(words), "count": count}
    rows: list[Any] = db.execute(search_sql.STASH_MATCHES, values).fetchall()
    return {place: max(score, 1e-9) for place, score in rows}
