"""The graph of a workspace as a whole: every method is one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

import apsw

from memsweep.model.contribution import Contribution, FactState
from memsweep.model.decay import Rates
from memsweep.model.graph import edges_now, entity_now
from memsweep.model.graph_exchange import (
    differs,
    entity_row,
    entity_with,
    import_event,
    imported,
    relation_row,
    relation_with,
)
from memsweep.model.ids import is_own_id
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.text import name_key
from memsweep.model.times import micros_or_none, to_micros
from memsweep.model.whole_graph import ExportedEntity, ExportedRelation, GraphDump, GraphSurvey, Imported
from memsweep.store.file.connect import Pool, one, row
from memsweep.store.file.meta import add_event
from memsweep.store.journals import note
from memsweep.store.sqlite import whole_graph_sql
from memsweep.store.sqlite.origins import origin_key
from memsweep.store.sqlite.rows import SqliteRows

NewId = Callable[[str], str]
_ENTITY = ("confidence", "handed_in", "pinned", "created_at", "last_seen")
_RELATION = ("weight", "evidence", "handed_in", "created_at", "last_seen")


class SqliteWholeGraph:
    """Implements `memsweep.store.ports.graph_store.WholeGraph`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def survey(self, rates: Rates, now: datetime) -> GraphSurvey:
        with self._pool.reading() as db:
            entities = tuple(entity_now(item, rates, now) for item in db.execute(whole_graph_sql.SURVEY_ENTITIES))
            return GraphSurvey(entities, tuple(edges_now(db.execute(whole_graph_sql.SURVEY_EDGES), rates, now)))

    def known_names(self, names: Collection[str]) -> dict[str, str]:
        with self._pool.reading() as db:
            return dict(db.execute(whole_graph_sql.KNOWN_NAMES, (json.dumps(sorted(names)),)))

    def dump(self) -> GraphDump:
        with self._pool.reading() as db:
            return GraphDump(
                tuple(entity_row(item[:-1], item[-1]) for item in db.execute(whole_graph_sql.DUMP_ENTITIES)),
                tuple(relation_row(item) for item in db.execute(whole_graph_sql.DUMP_RELATIONS)),
            )

    def load(self, dump: GraphDump, new_id: NewId, actor: str, now: datetime, origin: Origin = UNKNOWN) -> Imported:
        with self._pool.writing() as db:
            loader = _Loader(db, new_id, origin_key(db, origin), to_micros(now))
            for thing in dump.entities:
                loader.entity(thing)
            for thing in dump.entities:
                loader.aliases(thing)
            for fact in dump.relations:
                loader.relation(fact)
            done = imported(dump, loader.entities_created, loader.relations_created)
            add_event(db, import_event(done, tuple(loader.touched), actor, now))
            return done


class _Loader:
    """One import: which row each id of the file stands for."""

    def __init__(self, db: apsw.Connection, new_id: NewId, origin: int | None, now: int) -> None:
        self._db, self._new_id, self._origin, self._now = db, new_id, origin, now
        self._keys: dict[str, int] = {}
        self._uids: dict[int, str] = {}
        self.entities_created = self.relations_created = 0
        self.touched: dict[str, None] = {}
        """The ids of entities that are new, or not as they were."""

    def entity(self, thing: ExportedEntity) -> None:
        keys = name_key(thing.name), name_key(thing.type)
        known = row(self._db, whole_graph_sql.LOAD_FIND_ENTITY, keys)
        if known is None:
            uid = self._free_id("ent", thing.id, whole_graph_sql.ENTITY_ID_TAKEN)
            values = (uid, thing.name, keys[0], thing.type, keys[1], thing.confidence, thing.handed_in, thing.pinned)
            times = (to_micros(thing.created_at), to_micros(thing.last_seen))
            key = self._keys[thing.id] = one(self._db, whole_graph_sql.LOAD_ENTITY, (*values, *times, self._origin))
            self._uids[key] = uid
            self.touched[uid] = None
            self.entities_created += 1
            return
        key, uid, *values = known
        before = dict(zip(_ENTITY, values, strict=True))
        after = entity_with(before, thing)
        if differs(before, after):
            self._db.execute(whole_graph_sql.LOAD_CHANGE_ENTITY, {**after, "key": key})
            self.touched[uid] = None
        self._keys[thing.id], self._uids[key] = key, uid

    def aliases(self, thing: ExportedEntity) -> None:
        """After all entities: a name that one of them has is no other name of another."""
        for name, kind in json.loads(thing.aliases or "[]"):
            keys = {"key": name_key(name), "type_key": name_key(kind)}
            entity = self._keys[thing.id]
            self._db.execute(whole_graph_sql.LOAD_ALIAS, {**keys, "name": name, "entity": entity})
            if self._db.changes():
                self.touched[self._uids[entity]] = None

    def relation(self, fact: ExportedRelation) -> None:
        invalid = micros_or_none(fact.invalid_at)
        ends = self._keys[fact.source], self._keys[fact.target]
        kind = name_key(fact.relation)
        known = row(self._db, whole_graph_sql.LOAD_FIND_RELATION, (ends[0], kind, ends[1], invalid))
        if known is None:
            uid = self._free_id("rel", fact.id, whole_graph_sql.RELATION_ID_TAKEN)
            values = (uid, *ends, fact.relation, kind, fact.weight, fact.evidence, fact.handed_in)
            created, seen, valid = to_micros(fact.created_at), to_micros(fact.last_seen), micros_or_none(fact.valid_at)
            made = one(self._db, whole_graph_sql.LOAD_RELATION, (*values, created, seen, valid, invalid, self._origin))
            self._note(made, None, FactState(fact.weight, seen, fact.evidence, fact.handed_in, created, valid, invalid))
            self.relations_created += 1
            return
        key, *values, valid = known
        before = dict(zip(_RELATION, values, strict=True))
        after = relation_with(before, fact)
        if differs(before, after):
            self._db.execute(whole_graph_sql.LOAD_CHANGE_RELATION, {**after, "key": key})
            self._note(key, _state(before, valid, invalid), _state(after, valid, invalid))

    def _note(self, relation: int, before: FactState | None, after: FactState) -> None:
        act = Contribution(relation, "set", self._now, origin=self._origin, before=before, after=after)
        note(SqliteRows(self._db), [act])

    def _free_id(self, prefix: str, wanted: str, taken: str) -> str:
        """The id of the file where it is one of ours and free, trash included; else a new one."""
        free = is_own_id(wanted, prefix) and not one(self._db, taken, (wanted,))
        return wanted if free else self._new_id(prefix)


def _state(columns: Mapping[str, Any], valid: int | None, invalid: int | None) -> FactState:
    explicit = bool(columns["handed_in"])
    said = columns["weight"], columns["last_seen"], columns["evidence"], explicit, columns["created_at"]
    return FactState(*said, valid, invalid)
