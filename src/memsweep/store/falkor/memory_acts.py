"""The acts of memories. Writes work inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from memsweep.model.revision import Mentioned, mentioned_in
from memsweep.store.falkor import memory_act_cypher as own
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.memory_acts import MemoryActRows, MentionAt, PlacedMention


class FalkorMemoryActs(MemoryActRows):
    """Implements `memsweep.store.memory_acts.MemoryActRows`."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__(FalkorRows(tx))
        self._tx = tx

    def mentions(self, memories: Collection[int]) -> list[MentionAt]:
        asked = ((query, {"keys": sorted(memories)}) for query in own.MENTIONS)
        return [MentionAt(*row) for rows in self._tx.ask_all(*asked) for row in rows] if memories else []

    def own_mentions(self, memory: int) -> Mentioned:
        return mentioned_in(self._tx.ask(own.OWN_MENTIONS, memory=memory))

    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        rows = [each._asdict() for each in mentions]
        for step in own.ADD_MENTION_AT:
            self._tx.do(step, rows)
