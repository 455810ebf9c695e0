"""What merges wrote down, other names, and the plans of merges as nodes. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from memsweep.model.graph_rows import Move
from memsweep.model.splitting import Parts
from memsweep.store.falkor import merging_cypher
from memsweep.store.falkor.transaction import Transaction


class FalkorMoves:
    """Implements `memsweep.store.ports.merges.MoveRows`."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._places: dict[int, int] = {}

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
        known, places = self._tx.meta["keys"], self._places
        receipts = sorted({move.receipt for move in moves if move.receipt <= known} - places.keys())
        places |= dict(map(tuple, self._tx.ask(merging_cypher.LAST_PLACES, receipts=receipts))) if receipts else {}
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
