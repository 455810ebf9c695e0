"""The knowledge graph of a workspace: every method is one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import apsw

from memsweep.model.contributing import ending, reinforced, reinforcing, stating
from memsweep.model.decay import Rates, age_days, faded
from memsweep.model.graph import (
    Edge,
    Entity,
    FactCount,
    Faded,
    GraphBatch,
    NamedEntities,
    Reinforced,
    Reinforcement,
    Related,
    RelationDraft,
    RelationOutcome,
    RelationState,
    edge_now,
    entity_now,
    unknown_entity,
)
from memsweep.model.ids import findable
from memsweep.model.memory import DEFAULT_TYPE, NamedThing
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.quarantine import EntityProvenance, FactProvenance, Provenance, with_mentions
from memsweep.model.text import name_key
from memsweep.model.times import from_micros, to_micros
from memsweep.store.file.connect import Pool, one, row
from memsweep.store.file.meta import add_event
from memsweep.store.journals import Origins, contribute, fact_state, note
from memsweep.store.refusals import unknown_relation, unknown_source
from memsweep.store.sqlite import graph_sql, quarantine_sql, sql
from memsweep.store.sqlite.changes import SqliteChanges
from memsweep.store.sqlite.graph_rows import find_thing, key_of
from memsweep.store.sqlite.origins import origin_key
from memsweep.store.sqlite.rows import SqliteRows

NewId = Callable[[str], str]


class SqliteGraph:
    """Implements `memsweep.store.ports.graph_store.Graph`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @contextmanager
    def changing(self) -> Iterator[SqliteChanges]:
        with self._pool.writing() as db:
            yield SqliteChanges(db)

    def relate(
        self, batch: GraphBatch, rates: Rates, now: datetime, new_id: NewId, actor: str, origin: Origin = UNKNOWN
    ) -> Related:
        with self._pool.writing() as db:
            writer = _Writer(db, rates, now, new_id, origin_key(db, origin))
            for thing in batch.entities:
                writer.entity(thing)
            outcomes = tuple(writer.relation(draft) for draft in batch.relations)
            done = Related(tuple(writer.created), outcomes)
            if (event := done.event(now, actor)) is not None:
                add_event(db, event)
            return done

    def reinforce(self, asked: Reinforcement) -> Reinforced:
        with self._pool.writing() as db:
            ends = [_known(db, name) for name in (asked.subject, asked.object)]
            found = row(db, graph_sql.GET_RELATION, (ends[0], name_key(asked.relation), ends[1]))
            if found is None:
                raise unknown_relation(asked.subject, asked.relation, asked.object)
            key, uid, *state = found
            act = reinforcing(key, asked, fact_state(*state), origin_key(db, asked.origin))
            after = contribute(SqliteRows(db), act)
            if act.act == "confirm":
                db.executemany(graph_sql.SEE_ENTITY, [(act.at, act.origin, end) for end in ends])
            add_event(db, asked.event(uid))
            return reinforced(uid, act, after)

    def find(self, name_or_id: str) -> int:
        """The key of an entity by its id or its name."""
        with self._pool.reading() as db:
            return _known(db, name_or_id)

    def entities(self, rates: Rates, now: datetime, search: str | None, entity_type: str | None) -> list[Entity]:
        pattern = None if search is None else f"%{_literal(name_key(search))}%"
        wanted = {"search": pattern, "type": None if entity_type is None else name_key(entity_type)}
        with self._pool.reading() as db:
            return [entity_now(item, rates, now) for item in db.execute(graph_sql.ENTITIES, wanted)]

    def named(
        self, asked: NamedEntities, after: tuple[str, str] | None, limit: int, rates: Rates, now: datetime
    ) -> list[tuple[tuple[str, str], Entity]]:
        name, kind = after or ("", "")
        with self._pool.reading() as db:
            rows: Any = db.execute(graph_sql.NAMED, {**_named(asked), "name": name, "kind": kind, "limit": limit})
            return [((item[0], item[1]), entity_now(item[2:], rates, now)) for item in rows]

    def count_named(self, asked: NamedEntities) -> int:
        with self._pool.reading() as db:
            return int(one(db, graph_sql.COUNT_NAMED, _named(asked)))

    def fact_counts(self, key: int) -> tuple[int, list[FactCount]]:
        with self._pool.reading() as db:
            rows: Any = db.execute(graph_sql.FACT_COUNTS, {"key": key})
            counts = [FactCount(relation, bool(outgoing), *rest) for relation, outgoing, *rest in rows]
            return int(one(db, graph_sql.COUNT_MENTIONS, (key,))), counts

    def entities_at(self, keys: Collection[int], rates: Rates, now: datetime) -> list[Entity]:
        with self._pool.reading() as db:
            rows = db.execute(graph_sql.ENTITY_BY_KEYS, (json.dumps(sorted(keys)),))
            return [entity_now(item, rates, now) for item in rows]

    def edges_at(self, keys: Collection[int], kinds: Collection[str] | None, rates: Rates, now: datetime) -> list[Edge]:
        """Relations that begin or end at these entities, with what they weigh now."""
        folded = None if kinds is None else json.dumps([name_key(kind) for kind in kinds])
        with self._pool.reading() as db:
            rows: Any = db.execute(graph_sql.EDGES_AT, {"keys": json.dumps(sorted(keys)), "kinds": folded})
            return [edge_now(item, json.loads(sources), rates, now) for *item, sources in rows]

    def origins(self) -> dict[int, Origin]:
        with self._pool.reading() as db:
            return Origins(SqliteRows(db)).known()

    def fact_provenance(self, ids: Collection[str]) -> list[FactProvenance]:
        with self._pool.reading() as db:
            rows: list[Any] = db.execute(quarantine_sql.FACTS, (json.dumps(sorted(ids)),)).fetchall()
        return [FactProvenance(uid, Provenance(*made), json.loads(by)) for uid, *made, by in rows]

    def expired_facts(self, by: int) -> set[str]:
        with self._pool.reading() as db:
            return {uid for (uid,) in db.execute(graph_sql.EXPIRED_FACTS, {"expired_by": by})}

    def entity_provenance(self, keys: Collection[int]) -> list[EntityProvenance]:
        with self._pool.reading() as db:
            rows: list[Any] = db.execute(quarantine_sql.ENTITIES, (json.dumps(sorted(keys)),)).fetchall()
            found: list[Any] = db.execute(quarantine_sql.MENTIONS, (json.dumps([row[0] for row in rows]),)).fetchall()
        return with_mentions(((key, Provenance(*made), json.loads(facts)) for key, *made, facts in rows), found)

    def decay(self, rates: Rates, now: datetime, *, store: bool) -> tuple[list[Faded], list[Faded]]:
        with self._pool.writing() if store else self._pool.reading() as db:
            entities = _faded_rows(db.execute(graph_sql.ENTITY_BASES), rates.of, now)
            relations = _faded_rows(db.execute(graph_sql.RELATION_BASES), lambda _: rates.edge, now)
            if store:
                db.executemany(graph_sql.STORE_CONFIDENCE, [(fact.current, key) for key, fact in entities])
                db.executemany(graph_sql.STORE_WEIGHT, [(fact.current, key) for key, fact in relations])
            return [fact for _, fact in entities], [fact for _, fact in relations]


class _Writer:
    """One batch: what it makes, and what it finds there."""

    def __init__(self, db: apsw.Connection, rates: Rates, now: datetime, new_id: NewId, origin: int | None) -> None:
        self._db, self._rates, self._now, self._new_id, self._origin = db, rates, now, new_id, origin
        self.created: list[str] = []

    def entity(self, thing: NamedThing) -> int:
        """The entity of that name (and type, if one is given), made or seen again."""
        found, at = find_thing(self._db, thing), to_micros(self._now)
        if found is not None:
            self._see(found)
            return found
        kind, uid = thing.type or DEFAULT_TYPE, self._new_id("ent")
        self.created.append(uid)
        named = (uid, thing.name, name_key(thing.name), kind, name_key(kind))
        made: int = one(self._db, graph_sql.ADD_ENTITY, (*named, at, at, self._origin))
        return made

    def _see(self, entity: int) -> None:
        self._db.execute(graph_sql.SEE_ENTITY, (to_micros(self._now), self._origin, entity))

    def relation(self, draft: RelationDraft) -> RelationOutcome:
        subject, target = (self._end(end) for end in (draft.subject, draft.object))
        key, at = name_key(draft.relation), to_micros(self._now)
        memory = self._memory(draft.source) if draft.source else None
        closed = self._close_others(subject, key, target) if draft.replaces else []
        known = row(self._db, graph_sql.GET_RELATION, (subject, key, target))
        if known is None:
            uid = self._new_id("rel")
            valid = at if draft.valid_at is None else to_micros(draft.valid_at)
            values = (draft.weight, not draft.source, at, at, valid, self._origin)
            relation: int = one(self._db, graph_sql.ADD_RELATION, (uid, subject, target, draft.relation, key, *values))
        else:
            relation, uid = known[:2]
        before = None if known is None else fact_state(*known[2:])
        after = contribute(
            SqliteRows(self._db), stating(relation, draft, self._rates.edge, at, before, self._origin, memory)
        )
        if memory is not None:
            self._db.execute(sql.ADD_SOURCE, (relation, memory))
        names = [row(self._db, graph_sql.ENTITY_NAME, (end,))[1] for end in (subject, target)]
        state: RelationState = "created" if known is None else "strengthened"
        return RelationOutcome(uid, names[0], draft.relation, names[1], state, after.weight or 0.0, tuple(closed))

    def _close_others(self, subject: int, kind: str, target: int) -> list[str]:
        """End what the subject has of this kind with anything else; the ids of those."""
        at = to_micros(self._now)
        found: list[Any] = self._db.execute(graph_sql.OTHERS, (subject, kind, target)).fetchall()
        note(SqliteRows(self._db), [ending(key, at, fact_state(*state), self._origin) for key, _, *state in found])
        self._db.executemany(graph_sql.CLOSE, [(at, item[0]) for item in found])
        return [str(item[1]) for item in found]

    def _memory(self, memory_id: str) -> int:
        found = one(self._db, graph_sql.FIND_MEMORY, (findable(memory_id),))
        if found is None:
            raise unknown_source(memory_id)
        return int(found)

    def _end(self, end: NamedThing | str) -> int:
        if not isinstance(end, str):
            return self.entity(end)
        known = _known(self._db, end)
        self._see(known)
        return known


def _known(db: apsw.Connection, name: str) -> int:
    found = key_of(db, name)
    if found is None:
        raise unknown_entity(name)
    return found


def _faded_rows(rows: Any, rate_of: Callable[[str], float], now: datetime) -> list[tuple[int, Faded]]:
    return [
        (key, Faded(uid, name, kind, base, faded(base, rate_of(kind), age_days(from_micros(seen), now))))
        for key, uid, name, kind, base, seen in rows
    ]


def _named(asked: NamedEntities) -> dict[str, str | None]:
    part = _literal(asked.search)
    pattern = None if not part else f"{part}%" if asked.is_prefix else f"%{part}%"
    return {"search": pattern, "type": asked.type_key or None}


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
