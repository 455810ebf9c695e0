"""FalkorDB shows no transaction its own writes, so nothing may read after it has written, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

from memsweep.store.sqlite.collector import SqliteChanges
from memsweep.store.sqlite.store import SqliteStore
from tests.faults.merges import run

READS = {
    "rows": {"ask", "find", "told"},
    "receipts": {"get", "at", "not_purged", "since", "held"},
    "trash": {"find", "held_by", "holders", "memories_of", "clashes", "chunks_of", "chunks_with", "named_by_plans",
              "still_there"},
    "items": {"survey", "survey_of", "find", "describe", "live", "last_seen", "texts", "ids", "count", "chunks_of",
              "stated_by", "sources", "around", "relations_at", "superseded"},
    "plans": {"get", "items", "keys"},
    "revisions": {"of_receipts", "of_items"},
    "records": {"page", "at", "aliases", "names_seen", "description"},
    "texts": {"model", "at", "page", "pieces", "since", "duplicate_of", "tombstoned"},
    "tombstones": {"any", "among", "why_gone"},
    "segments": {"clashing", "unpinned", "held_by", "stashed_by", "summaries", "taken_since",
                 "moved_by", "texts_moved_by"},
    "entities": {"find", "at", "trashed_by", "live_named", "live_called", "mentioned_by"},
    "relations": {"at", "by_id", "touching", "current_at", "current_between", "trashed_by", "stated_by", "sources",
                  "needed_by"},
    "mentions": {"of", "owners", "shared", "in_memories", "count", "needed_by"},
    "moves": {"targets", "splits", "standing", "of"},
    "origins": {"known", "memories", "relations", "entities", "segments", "acts", "journal", "facts", "taken_back_by",
                "key_of"},
    "acts": {"of_origins", "of_memories", "taken_back_by", "of_receipt", "mentions", "own_mentions", "mentioned_by",
             "links"},
    "aliases": {"at"},
}  # fmt: skip


class Watched:
    """A real transaction that objects to a read after a write."""

    def __init__(self, real: SqliteChanges) -> None:
        self._real = real
        self.written = ""

    def audit(self, event: Any) -> None:
        self.written = "audit"
        self._real.audit(event)

    def let_go(self, before: datetime, most: int) -> bool:
        self.written = "let_go"
        return self._real.let_go(before, most)

    def __getattr__(self, port: str) -> WatchedPort:
        return WatchedPort(self, port, getattr(self._real, port))


class WatchedPort:
    def __init__(self, changes: Watched, name: str, real: Any) -> None:
        self._changes, self._name, self._real = changes, name, real

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method not in READS[self._name]:
            self._changes.written = f"{self._name}.{method}"
        elif self._changes.written:
            raise AssertionError(f"{self._name}.{method} reads after {self._changes.written} has written")
        return getattr(self._real, method)  # type: ignore[no-any-return]


@contextmanager
def watched(store: Any, seconds: float | None = None, *, ahead: Any = ()) -> Iterator[Watched]:
    with store._pool.writing() as db:
        yield Watched(SqliteChanges(db))


@pytest.mark.parametrize("seed", range(12))
def test_undo_purge_and_merges_read_everything_before_they_write(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteStore, "changing", watched)
    assert run(seed)["violations"] == []


def test_a_read_after_a_write_is_found_out() -> None:
    changes = Watched(object())  # type: ignore[arg-type]
    changes.written = "entities.add"
    with pytest.raises(AssertionError, match=r"moves.targets reads after entities.add has written"):
        WatchedPort(changes, "moves", object()).targets()
