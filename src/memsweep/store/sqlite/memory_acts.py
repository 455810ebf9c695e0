"""The acts of memories, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import apsw

from memsweep.model.memory_act import Mentioned, mentioned_in
from memsweep.store.memory_acts import MemoryActRows, MentionAt, PlacedMention
from memsweep.store.sqlite import memory_act_sql as own
from memsweep.store.sqlite.rows import SqliteRows, as_list


class SqliteMemoryActs(MemoryActRows):
    """Implements `memsweep.store.memory_acts.MemoryActRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def mentions(self, memories: Collection[int]) -> list[MentionAt]:
        return [MentionAt(*row) for row in self._db.execute(own.MENTIONS, (as_list(memories),))]

    def own_mentions(self, memory: int) -> Mentioned:
        rows: list[Any] = self._db.execute(own.OWN_MENTIONS, (memory,)).fetchall()
        return mentioned_in(rows)

    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        self._db.executemany(own.ADD_MENTION_AT, [each._asdict() for each in mentions])
