"""Entities, relations and mentions as rows. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import apsw

from memsweep.model.contribution import strength_set
from memsweep.model.graph_rows import RelationChange, RelationRecord, Source
from memsweep.model.memory import NamedThing
from memsweep.model.merging import Place
from memsweep.model.text import case_key, name_key
from memsweep.store.file.connect import one
from memsweep.store.journals import note_if_any
from memsweep.store.ports.graph import EntityRows
from memsweep.store.records import Entities
from memsweep.store.sqlite import graph_rows_sql as own
from memsweep.store.sqlite import graph_sql, sql, trash_sql
from memsweep.store.sqlite.lists import as_list
from memsweep.store.sqlite.rows import SqliteRows


class _Rows:
    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def _all(self, statement: str, *values: object) -> list[Any]:
        return self._db.execute(statement, values).fetchall()


class SqliteEntities(EntityRows, _Rows):
    """Implements `memsweep.store.ports.graph.EntityRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        Entities.__init__(self, SqliteRows(db))
        self._db = db

    def find(self, name_or_id: str) -> int | None:
        return key_of(self._db, name_or_id)

    def mentioned_by(self, memories: Collection[int]) -> set[int]:
        return {key for (key,) in self._all(own.MENTIONED_BY, as_list(memories))} if memories else set()

    def trash(self, keys: Collection[int], receipt: int) -> None:
        self.hand_on(dict.fromkeys(keys, receipt))

    def hand_on(self, receipts: Mapping[int, int]) -> None:
        self._db.executemany(own.SET_ENTITY_TRASH, [(receipt, key) for key, receipt in receipts.items()])
        if receipts:
            self._db.execute(trash_sql.MENTIONS_FOLLOW_ENTITIES, (as_list(receipts),))


class SqliteRelations(_Rows):
    """Implements `memsweep.store.ports.graph.RelationRows`."""

    def at(self, keys: Collection[int]) -> list[RelationRecord]:
        return self._relations(own.RELATIONS_AT, keys)

    def by_id(self, ids: Collection[str]) -> list[RelationRecord]:
        return self._relations(own.RELATIONS_BY_UID, ids)

    def touching(self, entities: Collection[int], besides: int = 0) -> list[RelationRecord]:
        return self._asked(own.RELATIONS_TOUCHING, keys=as_list(entities), besides=besides) if entities else []

    def current_at(self, entity: int, kinds: Collection[str]) -> list[RelationRecord]:
        return self._asked(own.CURRENT_AT, key=entity, kinds=as_list(kinds))

    def current_between(self, places: Collection[Place]) -> list[RelationRecord]:
        return self._relations(own.CURRENT_BETWEEN, places)

    def trashed_by(self, receipts: Collection[int]) -> list[RelationRecord]:
        return self._relations(own.RELATIONS_TRASHED_BY, receipts)

    def stated_by(self, memories: Collection[int], besides: int = 0) -> list[RelationRecord]:
        return self._asked(own.STATED_BY, memories=as_list(memories), besides=besides) if memories else []

    def _asked(self, statement: str, **values: object) -> list[RelationRecord]:
        rows: list[Any] = self._db.execute(statement, values).fetchall()
        return list(map(RelationRecord._make, rows))

    def _relations(self, statement: str, values: Collection[Any]) -> list[RelationRecord]:
        return list(map(RelationRecord._make, self._all(statement, as_list(values)))) if values else []

    def sources(self, relations: Collection[int]) -> list[Source]:
        return [Source(*row) for row in self._all(own.SOURCES, as_list(relations))] if relations else []

    def needed_by(self, relations: Collection[int], besides: Collection[int]) -> dict[int, int]:
        asked = {"keys": as_list(relations), "receipts": as_list(besides)}
        return dict(self._db.execute(own.RELATIONS_NEEDED_BY, asked))

    def write(self, changes: Iterable[RelationChange]) -> None:
        listed = list(changes)
        changed = [(before, after) for before, after, *_ in listed if before != after]
        # Two current relations never have the same ends and kind, not even for a moment: all leave their place first.
        self._db.executemany(own.SET_RELATION_TRASH, [(0, before.key) for before, _ in changed if before.is_current])
        self._db.executemany(
            own.SET_RELATION,
            [(*after.ends, *after.strength, after.version, after.trash, after.key) for _, after in changed],
        )
        joined = [after for before, after in changed if before.strength != after.strength]
        note_if_any(SqliteRows(self._db), [strength_set(each.key, each.last_seen, each.strength) for each in joined])
        dropped = [(each.after.key, memory) for each in listed for memory in each.unstated_by]
        added = [(source.relation, source.memory) for each in listed for source in each.newly_stated_by]
        self._db.executemany(sql.DROP_SOURCE, dropped)
        self._db.executemany(sql.ADD_SOURCE, added)

    def restore(self, keys: Collection[int]) -> None:
        if keys:
            self._db.execute(own.RESTORE_RELATIONS, (as_list(keys),))

    def trash(self, receipts: Mapping[int, int]) -> None:
        self.hand_on(receipts)

    def hand_on(self, receipts: Mapping[int, int]) -> None:
        self._db.executemany(own.SET_RELATION_TRASH, [(receipt, key) for key, receipt in receipts.items()])


def find_thing(db: apsw.Connection, thing: NamedThing) -> int | None:
    """The live entity of a name and a type; without a type, the one of that name that is surest."""
    if thing.type:
        found = one(db, graph_sql.FIND_TYPED, (name_key(thing.name), name_key(thing.type), case_key(thing.name)))
    else:
        found = one(db, graph_sql.FIND_NAMED, (name_key(thing.name), case_key(thing.name)))
    return None if found is None else int(found)


def key_of(db: apsw.Connection, name_or_id: str) -> int | None:
    """The key of a live entity by its id or its name."""
    found: int | None = one(db, graph_sql.FIND_BY_UID, (name_or_id,))
    if found is None:
        found = one(db, graph_sql.FIND_NAMED, (name_key(name_or_id), case_key(name_or_id)))
    return found
