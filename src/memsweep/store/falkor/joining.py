"""Relations that come to say the same while an undo is under way. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from memsweep.model.merging import Contender, joined
from memsweep.store.falkor import merging_cypher as own
from memsweep.store.falkor.moving import Relation as Moved
from memsweep.store.falkor.transaction import Change


class Note(NamedTuple):
    """What a merge that stands writes down."""

    receipt: int
    kind: str
    a: int
    b: int
    said: Any = None


@dataclass(frozen=True)
class Apart:
    """What is as it was before a merge, in the same transaction, so that no read shows it yet."""

    entities: set[int] = field(default_factory=set)
    ends: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Of relations, wherever they are."""
    unstated: set[tuple[int, int]] = field(default_factory=set)
    """Relations, and memories that state them no more."""
    relations: Mapping[int, tuple[Moved, str]] = field(default_factory=dict)
    """As they are now, with their ids."""
    notes: Sequence[Note] = ()
    """What other merges have to write down."""


class Joining:
    """Some relations with their strengths and who states them, as a merge that was taken `apart` left them."""

    def __init__(self, tx: Change, keys: Collection[int], apart: Apart) -> None:
        self._tx = tx
        wanted = sorted(keys)
        live, trashed, sources = tx.ask_all(
            *((query, {"keys": wanted}) for query in own.RELATIONS_AT), (own.SOURCES, {"keys": wanted})
        )
        self._relations = {row[0]: Moved(*row[:11]) for row in (*live, *trashed)}
        self._relations |= {key: each for key, (each, _) in apart.relations.items() if key in keys}
        self._sources: dict[int, set[int]] = defaultdict(set)
        self._lives: dict[int, bool] = {}
        for relation, memory, lives in sources:
            self._lives[memory] = lives
            if (relation, memory) not in apart.unstated:
                self._sources[relation].add(memory)
        self._subject: dict[int, int] = {}
        self._stated: list[tuple[int, int]] = []

    def join(self, merge: int, kept: Contender, gone: int, edge_rate: float, now: datetime) -> Iterator[Note]:
        """Of two facts that are one now, the stronger counts; who stated the other states it."""
        relation = self._relations[kept.key]
        before = relation.strength
        relation.take(joined(before, self._relations[gone].strength, edge_rate, now))
        self._subject[kept.key] = kept.subject
        yield Note(merge, "strength", kept.key, gone, [*before, *relation.strength])
        for memory in sorted(self._sources[gone] - self._sources[kept.key]):
            self._sources[kept.key].add(memory)
            self._stated.append((kept.key, memory))
            yield Note(merge, "source", kept.key, memory)

    def write(self, living: Collection[int]) -> None:
        """What was joined to lives by now; `living` are memories that do, too."""
        names = ("weight", "last_seen", "evidence", "handed_in", "version")
        rows = [
            {"key": key, "set": {name: getattr(self._relations[key], name) for name in names}} for key in self._subject
        ]
        self._tx.do(own.set_relation(is_live=True), rows)
        for live in (True, False):
            stated = [
                {"relation": key, "memory": memory, "subject": self._subject[key]}
                for key, memory in self._stated
                if (self._lives[memory] or memory in living) == live
            ]
            self._tx.do(own.add_source(memory_lives=live), stated)


def add_notes(tx: Change, notes: Sequence[Note]) -> None:
    """Write something more down under merges that stand."""
    receipts = sorted({note.receipt for note in notes})
    places = dict(map(tuple, tx.ask(own.LAST_PLACES, receipts=receipts))) if receipts else {}
    rows: list[dict[str, Any]] = []
    for note in notes:
        places[note.receipt] = places.get(note.receipt, -1) + 1
        values = {"receipt": note.receipt, "place": places[note.receipt], "kind": note.kind}
        rows.append({**values, "a": note.a, "b": note.b, "c": None, "said": json.dumps(note.said)})
    tx.do(own.ADD_MOVE, rows)
