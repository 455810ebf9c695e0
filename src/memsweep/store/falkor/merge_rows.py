"""What merges wrote down, other names, and the plans of merges as nodes. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from memsweep.model.graph_rows import Alias, Move, Name
from memsweep.model.splitting import Parts
from memsweep.store.falkor import merging_cypher
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.falkor.wire import Query


class FalkorMoves:
    """Implements `memsweep.store.ports.merges.MoveRows`."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def targets(self) -> dict[int, int]:
        return dict(map(tuple, self._tx.ask(merging_cypher.TARGETS)))

    def splits(self) -> dict[int, Parts]:
        return {receipt: Parts(old, new) for receipt, old, new in self._tx.ask(merging_cypher.SPLITS)}

    def of(
        self, receipts: Collection[int], kinds: Collection[str] = (), about: Collection[int] | None = None
    ) -> list[Move]:
        if not receipts or (about is not None and not about):
            return []
        wanted = {"kinds": sorted(kinds) or None, "about": None if about is None else sorted(about)}
        rows = self._tx.ask(merging_cypher.MOVES, receipts=sorted(receipts), **wanted)
        return [Move(receipt, kind, a, b, c, json.loads(said), place) for receipt, kind, a, b, c, said, place in rows]

    def add(self, moves: Sequence[Move]) -> None:
        # What this transaction itself has made has no moves yet.
        receipts = sorted({move.receipt for move in moves if move.receipt <= self._tx.meta["keys"]})
        places = dict(map(tuple, self._tx.ask(merging_cypher.LAST_PLACES, receipts=receipts))) if receipts else {}
        rows = []
        for move in moves:
            places[move.receipt] = places.get(move.receipt, -1) + 1
            rows.append({**_values(move), "place": places[move.receipt]})
        self._tx.do(merging_cypher.ADD_MOVE, rows)

    def set(self, changed: Iterable[Move]) -> None:
        self._tx.do(merging_cypher.SET_MOVE, [_values(move) for move in changed])

    def drop(self, receipts: Collection[int]) -> None:
        self._tx.do(merging_cypher.DROP_MOVES, sorted(receipts))

    def hand_over(self, namesakes: Mapping[int, int], receipts: Collection[int]) -> None:
        rows = [
            {"entity": entity, "namesake": namesake, "receipt": receipt}
            for receipt in sorted(receipts)
            for entity, namesake in sorted(namesakes.items())
        ]
        for step in merging_cypher.HAND_OVER:
            self._tx.do(step, rows)


def _values(move: Move) -> dict[str, Any]:
    return {**move._asdict(), "said": json.dumps(move.said)}


class FalkorAliases:
    """Implements `memsweep.store.ports.merges.AliasRows`."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def at(self, entities: Collection[int] = (), names: Collection[Name] = ()) -> list[Alias]:
        asked: list[Query] = []
        if entities:
            asked.append((merging_cypher.ALIASES_OF, {"keys": sorted(entities)}))
        if names:
            asked.append((merging_cypher.ALIASES_NAMED, {"names": [list(name) for name in sorted(names)]}))
        found = self._tx.ask_all(*asked) if asked else []
        return [Alias(*row) for rows in found for row in rows]

    def put(self, aliases: Iterable[Alias]) -> None:
        self._tx.do(merging_cypher.SET_ALIAS, [alias._asdict() for alias in aliases])

    def drop(self, names: Collection[Name]) -> None:
        rows = [{"name_key": name, "type_key": kind} for name, kind in sorted(names)]
        self._tx.do(merging_cypher.DROP_ALIAS, rows)

    def drop_of_receipt(self, receipt: int) -> None:
        self._tx.do(merging_cypher.DROP_ALIASES, [receipt])
