"""What merges wrote down, other names, and the plans of merges as rows. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import apsw

from memsweep.model.graph_rows import Move
from memsweep.model.splitting import Parts
from memsweep.store.sqlite import merging_sql
from memsweep.store.sqlite.lists import as_list


class SqliteMoves:
    """Implements `memsweep.store.ports.merges.MoveRows`; places are those of the table."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def targets(self) -> dict[int, int]:
        return dict(self._db.execute(merging_sql.TARGETS))

    def splits(self) -> dict[int, Parts]:
        return {receipt: Parts(old, new) for receipt, old, new in self._db.execute(merging_sql.SPLITS)}

    def of(
        self, receipts: Collection[int], kinds: Collection[str] = (), about: Collection[int] | None = None
    ) -> list[Move]:
        if not receipts:
            return []
        wanted = {
            "receipts": as_list(receipts),
            "kinds": as_list(kinds) if kinds else None,
            "about": None if about is None else as_list(about),
        }
        rows: list[Any] = self._db.execute(merging_sql.MOVES, wanted).fetchall()
        return [Move(receipt, kind, a, b, c, json.loads(said), place) for receipt, kind, a, b, c, said, place in rows]

    def add(self, moves: Sequence[Move]) -> None:
        rows = [(move.receipt, move.kind, move.a, move.b, move.c, json.dumps(move.said)) for move in moves]
        self._db.executemany(merging_sql.ADD_MOVE, rows)

    def set(self, changed: Iterable[Move]) -> None:
        rows = [(move.a, move.b, move.c, json.dumps(move.said), move.place) for move in changed]
        self._db.executemany(merging_sql.SET_MOVE, rows)

    def drop(self, receipts: Collection[int]) -> None:
        self._db.execute(merging_sql.DROP_MOVES, (as_list(receipts),))

    def hand_over(self, namesakes: Mapping[int, int], receipts: Collection[int]) -> None:
        merges = as_list(receipts)
        rows = [{"entity": entity, "namesake": namesake, "receipts": merges} for entity, namesake in namesakes.items()]
        for statement in merging_sql.HAND_OVER if receipts else ():
            self._db.executemany(statement, rows)
