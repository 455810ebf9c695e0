"""Entities, relations and mentions as nodes and edges. Inside the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from memsweep.model.contribution import strength_set
from memsweep.model.graph_rows import RelationChange, RelationRecord, Source
from memsweep.model.merging import Place
from memsweep.store.falkor import graph_rows_cypher as own
from memsweep.store.falkor.naming import key_of
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.falkor.wire import Row
from memsweep.store.journals import note_if_any
from memsweep.store.ports.graph import EntityRows
from memsweep.store.records import Entities

Step = tuple[str, dict[str, Any]]


class _Rows:
    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def _both(self, query: str, keys: Collection[int], **values: Any) -> list[Row]:
        """What is live and what is in the trash, in one go."""
        if not keys:
            return []
        asked = own.live_and_trashed(query)
        found = self._tx.ask_all(*((each, {"keys": sorted(keys), **values}) for each in asked))
        return [row for rows in found for row in rows]


class FalkorEntities(EntityRows, _Rows):
    """Implements `memsweep.store.ports.graph.EntityRows`."""

    def __init__(self, tx: Transaction) -> None:
        Entities.__init__(self, FalkorRows(tx))
        self._tx = tx

    def find(self, name_or_id: str) -> int | None:
        return key_of(self._tx, name_or_id)

    def mentioned_by(self, memories: Collection[int]) -> set[int]:
        rows = self._tx.ask(own.MENTIONED_BY, memories=sorted(memories)) if memories else []
        return {key for (key,) in rows}

    def trash(self, keys: Collection[int], receipt: int) -> None:
        self._tx.do(own.TRASH_ENTITY, [{"key": key, "trash": receipt} for key in sorted(keys)])

    def hand_on(self, receipts: Mapping[int, int]) -> None:
        self._tx.do(own.HAND_ON_ENTITY, _held(receipts))


class FalkorRelations(_Rows):
    """Implements `memsweep.store.ports.graph.RelationRows`."""

    def at(self, keys: Collection[int]) -> list[RelationRecord]:
        return _relations(self._both(own.RELATIONS_AT, keys))

    def by_id(self, ids: Collection[str]) -> list[RelationRecord]:
        return _relations(self._tx.ask(own.RELATIONS_BY_ID, ids=sorted(ids)) if ids else ())

    def touching(self, entities: Collection[int], besides: int = 0) -> list[RelationRecord]:
        found = {row[0]: row for row in self._both(own.RELATIONS_TOUCHING, entities, besides=besides)}
        return _relations(found.values())

    def current_at(self, entity: int, kinds: Collection[str]) -> list[RelationRecord]:
        return _relations(self._tx.ask(own.CURRENT_AT, key=entity, kinds=sorted(kinds)))

    def current_between(self, places: Collection[Place]) -> list[RelationRecord]:
        ends = [list(place) for place in sorted(places)]
        return _relations(self._tx.ask(own.CURRENT_BETWEEN, ends=ends) if ends else ())

    def trashed_by(self, receipts: Collection[int]) -> list[RelationRecord]:
        return _relations(self._tx.ask(own.RELATIONS_TRASHED_BY, receipts=sorted(receipts)) if receipts else ())

    def stated_by(self, memories: Collection[int], besides: int = 0) -> list[RelationRecord]:
        rows = self._tx.ask(own.STATED_BY, memories=sorted(memories)) if memories else []
        return [each for each in self.at({key for (key,) in rows}) if each.trash not in (None, besides)]

    def sources(self, relations: Collection[int]) -> list[Source]:
        rows = self._tx.ask(own.SOURCES, keys=sorted(relations)) if relations else []
        return [Source(*row) for row in rows]

    def needed_by(self, relations: Collection[int], besides: Collection[int]) -> dict[int, int]:
        asked = {"keys": sorted(relations), "receipts": sorted(besides)}
        return dict(map(tuple, self._tx.ask(own.RELATIONS_NEEDED_BY, **asked))) if relations else {}

    def write(self, changes: Iterable[RelationChange]) -> None:
        """A few steps for any number of relations, and then for who states them."""
        listed = list(changes)
        self._do(_changed(each) for each in listed if each.before != each.after)
        joined = [each.after for each in listed if each.before.strength != each.after.strength]
        note_if_any(FalkorRows(self._tx), [strength_set(each.key, each.last_seen, each.strength) for each in joined])
        self._do(step for each in listed for step in _restated(each))

    def _do(self, steps: Iterable[Step]) -> None:
        gathered: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for step, row in steps:
            gathered[step].append(row)
        for step, rows in gathered.items():
            self._tx.do(step, rows)

    def restore(self, keys: Collection[int]) -> None:
        self._tx.do(own.RESTORE_RELATION, sorted(keys))

    def trash(self, receipts: Mapping[int, int]) -> None:
        self._tx.do(own.TRASH_RELATION, _held(receipts))

    def hand_on(self, receipts: Mapping[int, int]) -> None:
        self._tx.do(own.HAND_ON_RELATION, _held(receipts))


def _relations(rows: Iterable[Row]) -> list[RelationRecord]:
    return [RelationRecord(*row) for row in rows]


def _held(receipts: Mapping[int, int]) -> list[dict[str, int]]:
    return [{"key": key, "trash": trash} for key, trash in sorted(receipts.items())]


_STORED = {
    "weight": "weight",
    "last_seen": "last_seen",
    "evidence": "evidence",
    "explicit": "handed_in",
    "version": "version",
    "trash": "trash",
}


def _changed(change: RelationChange) -> Step:
    before, after = change.before, change.after
    was, now = before._asdict(), after._asdict()
    changed = {stored: now[name] for name, stored in _STORED.items() if now[name] != was[name]}
    row = {"key": after.key, "subject": after.subject, "object": after.object, "set": changed}
    was_live, is_live = before.trash is None, after.trash is None
    if (after.place, is_live) == (before.place, was_live):
        return own.set_relation(is_live=is_live), row
    lives = {"subject_lives": after.subject_lives, "object_lives": after.object_lives}
    return own.move_relation(was_live=was_live, is_live=is_live, **lives), row


def _restated(change: RelationChange) -> Iterator[Step]:
    after = change.after
    for memory in change.unstated_by:
        yield own.DROP_SOURCE, {"relation": after.key, "memory": memory}
    if after.subject != change.before.subject:
        row = {"relation": after.key, "subject": after.subject}
        yield own.move_sources(subject_lives=after.subject_lives), row
    for each in change.newly_stated_by:
        row = {"relation": after.key, "memory": each.memory, "subject": after.subject}
        yield own.add_source(memory_lives=each.lives), row
