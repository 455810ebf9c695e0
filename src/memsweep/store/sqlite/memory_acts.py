"""Who said memories and who updated them. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import apsw

from memsweep.model.memory_act import Mentioned, mentioned_in
from memsweep.model.superseding import Pair, bases_from, bases_text
from memsweep.store.ports.memory_acts import Link, MemoryActRows, MentionAt, MentionRow, PlacedMention
from memsweep.store.sqlite import memory_act_sql as own
from memsweep.store.sqlite import sql, superseding_sql
from memsweep.store.sqlite.rows import SqliteRows, as_list


class SqliteMemoryActs(MemoryActRows):
    """Implements `memsweep.store.ports.memory_acts.MemoryActRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def mentions(self, memories: Collection[int]) -> list[MentionAt]:
        return [MentionAt(*row) for row in self._db.execute(own.MENTIONS, (as_list(memories),))]

    def own_mentions(self, memory: int) -> Mentioned:
        rows: list[Any] = self._db.execute(own.OWN_MENTIONS, (memory,)).fetchall()
        return mentioned_in(rows)

    def mentioned_by(self, origins: Collection[int]) -> set[int]:
        return {memory for (memory,) in self._db.execute(own.MENTIONED_BY, (as_list(origins),))}

    def add_mentions(self, mentions: Iterable[MentionRow]) -> None:
        self._db.executemany(own.ADD_MENTION, [each._asdict() for each in mentions])

    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        self._db.executemany(own.ADD_MENTION_AT, [each._asdict() for each in mentions])

    def drop_mentions(self, mentions: Iterable[tuple[int, int]]) -> None:
        self._db.executemany(sql.DROP_MENTION, list(mentions))

    def links(self) -> list[Link]:
        rows: list[Any] = self._db.execute(superseding_sql.EVERY).fetchall()
        return [Link((old, new), at, bases_from(origins)) for old, new, at, origins in rows]

    def ever_superseded(self, memories: Collection[int]) -> set[int]:
        rows: list[Any] = self._db.execute(superseding_sql.EVER_SUPERSEDED, {"keys": as_list(memories)}).fetchall()
        return {key for (key,) in rows}

    def set_links(self, links: Iterable[Link]) -> None:
        rows = [(*link.pair, link.at, bases_text(link.bases)) for link in links]
        self._db.executemany(superseding_sql.ADD_LINK, rows)

    def drop_links(self, pairs: Collection[Pair]) -> None:
        self._db.executemany(superseding_sql.DROP_LINK, sorted(pairs))
