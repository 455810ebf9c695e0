"""Who said memories and who updated them. What writes works inside the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from memsweep.model.memory_act import Mentioned, mentioned_in
from memsweep.model.superseding import Pair, bases_from, bases_text
from memsweep.store.falkor import memory_act_cypher as own
from memsweep.store.falkor import superseding_cypher
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.ports.memory_acts import Link, MemoryActRows, MentionAt, MentionRow, PlacedMention


class FalkorMemoryActs(MemoryActRows):
    """Implements `memsweep.store.ports.memory_acts.MemoryActRows`."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__(FalkorRows(tx))
        self._tx = tx

    def mentions(self, memories: Collection[int]) -> list[MentionAt]:
        asked = ((query, {"keys": sorted(memories)}) for query in own.MENTIONS)
        return [MentionAt(*row) for rows in self._tx.ask_all(*asked) for row in rows] if memories else []

    def own_mentions(self, memory: int) -> Mentioned:
        return mentioned_in(self._tx.ask(own.OWN_MENTIONS, memory=memory))

    def mentioned_by(self, origins: Collection[int]) -> set[int]:
        return {memory for (memory,) in self._tx.ask(own.MENTIONED_BY, origins=sorted(origins))} if origins else set()

    def add_mentions(self, mentions: Iterable[MentionRow]) -> None:
        """Either end may be in the trash by now."""
        if rows := [each._asdict() for each in mentions]:
            for step in own.ADD_MENTION:
                self._tx.do(step, rows)

    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        rows = [each._asdict() for each in mentions]
        for step in own.ADD_MENTION_AT:
            self._tx.do(step, rows)

    def drop_mentions(self, mentions: Iterable[tuple[int, int]]) -> None:
        rows = [{"chunk": chunk, "entity": entity} for chunk, entity in mentions]
        for step in own.DROP_MENTION:
            self._tx.do(step, rows)

    def links(self) -> list[Link]:
        found = self._tx.ask_all(*((query, {}) for query in superseding_cypher.EVERY_LINK))
        rows = sorted(tuple(row) for rows in found for row in rows)
        return [Link((old, new), at, bases_from(bases)) for old, new, at, bases in rows]

    def ever_superseded(self, memories: Collection[int]) -> set[int]:
        asked = (
            (query, {"keys": sorted(memories)})
            for query in (*superseding_cypher.LINKED, superseding_cypher.ENDED_LINKS)
        )
        return {key for rows in self._tx.ask_all(*asked) for (key,) in rows}

    def set_links(self, links: Iterable[Link]) -> None:
        """Their memories may be in the trash, each of them."""
        wanted = list(links)
        trashed = self._trashed({key for link in wanted for key in link.pair})
        steps: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for (old, new), at, bases in wanted:
            step = superseding_cypher.add_link(new_is_trashed=new in trashed, old_is_trashed=old in trashed)
            steps[step].append({"old": old, "new": new, "at": at, "origins": bases_text(bases)})
        for step, rows in steps.items():
            self._tx.do(step, rows)

    def drop_links(self, pairs: Collection[Pair]) -> None:
        rows = [{"old": old, "new": new} for old, new in sorted(pairs)]
        for step in superseding_cypher.drop_link():
            self._tx.do(step, rows)

    def _trashed(self, memories: Collection[int]) -> set[int]:
        rows = self._tx.ask(superseding_cypher.TRASHED, keys=sorted(memories)) if memories else []
        return {key for (key,) in rows}
