"""The knowledge graph of a workspace: every method is one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

import apsw

from memsweep.errors import BadInput, Conflict, NotFound
from memsweep.model.decay import CONFIRM_GAIN, CORRECT_LOSS, Rates, age_days, confirmed, corrected, faded, restated
from memsweep.model.graph import (
    Edge,
    Entity,
    Faded,
    GraphBatch,
    Merged,
    Reinforced,
    Related,
    RelationDraft,
    RelationOutcome,
    RelationState,
    Split,
    entity_now,
)
from memsweep.model.ids import findable
from memsweep.model.memory import NamedThing
from memsweep.model.plan import PlanItem
from memsweep.model.text import name_key
from memsweep.model.times import from_micros, to_micros
from memsweep.store import merge_plans
from memsweep.store.file import meta_sql
from memsweep.store.file.connect import Pool, one, row
from memsweep.store.plans import MERGE, Planning
from memsweep.store.sqlite import gc_sql, graph_sql, merging, sql
from memsweep.store.sqlite.changes import SqliteChanges
from memsweep.store.sqlite.plans import SqlitePlans
from memsweep.store.stored import to_json

NewId = Callable[[str], str]
_DEFAULT_TYPE = NamedThing("").type


class SqliteGraph:
    """Implements `memsweep.store.protocol.Graph`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def relate(self, batch: GraphBatch, rates: Rates, now: datetime, new_id: NewId) -> Related:
        with self._pool.writing() as db:
            writer = _Writer(db, rates, now, new_id)
            for thing in batch.entities:
                writer.entity(thing)
            outcomes = tuple(writer.relation(draft) for draft in batch.relations)
            return Related(tuple(writer.created), outcomes)

    def reinforce(
        self,
        subject: str,
        relation: str,
        target: str,
        kind: str,
        amount: float | None,
        rates: Rates,
        now: datetime,
        actor: str,
        reason: str,
    ) -> Reinforced:
        with self._pool.writing() as db:
            ends = [_known(db, name) for name in (subject, target)]
            found = row(db, graph_sql.GET_RELATION, (ends[0], name_key(relation), ends[1]))
            if found is None:
                raise NotFound(f"there is no current relation {relation!r:.60} from {subject!r:.60} to {target!r:.60}.")
            key, uid, weight, seen = found
            base, last = 1.0 if weight is None else weight, from_micros(seen)
            days = age_days(last, now)
            if kind == "confirm":
                new, last = confirmed(base, rates.edge, days, CONFIRM_GAIN if amount is None else amount), now
                db.executemany(graph_sql.SEE_ENTITY, [(to_micros(now), end) for end in ends])
            else:
                new = corrected(base, rates.edge, days, CORRECT_LOSS if amount is None else amount)
            db.execute(graph_sql.SET_WEIGHT, (new, max(seen, to_micros(last)), key))
            db.execute(meta_sql.ADD_AUDIT, (to_micros(now), actor, kind, uid, "{}", reason))
            after = faded(new, rates.edge, age_days(max(last, from_micros(seen)), now))
            return Reinforced(uid, faded(base, rates.edge, days), after)

    def find(self, name_or_id: str) -> int:
        """The key of an entity by its id or its name."""
        with self._pool.reading() as db:
            return _known(db, name_or_id)

    def entities(self, rates: Rates, now: datetime, search: str | None, entity_type: str | None) -> list[Entity]:
        pattern = None if search is None else f"%{_literal(name_key(search))}%"
        wanted = {"search": pattern, "type": None if entity_type is None else name_key(entity_type)}
        with self._pool.reading() as db:
            return [entity_now(item, rates, now) for item in db.execute(graph_sql.ENTITIES, wanted)]

    def entities_at(self, keys: Collection[int], rates: Rates, now: datetime) -> list[Entity]:
        with self._pool.reading() as db:
            rows = db.execute(graph_sql.ENTITY_BY_KEYS, (json.dumps(sorted(keys)),))
            return [entity_now(item, rates, now) for item in rows]

    def edges_at(self, keys: Collection[int], kinds: Collection[str] | None, rates: Rates, now: datetime) -> list[Edge]:
        """Relations that begin or end at these entities, with what they weigh now."""
        folded = None if kinds is None else json.dumps([name_key(kind) for kind in kinds])
        with self._pool.reading() as db:
            rows = db.execute(graph_sql.EDGES_AT, {"keys": json.dumps(sorted(keys)), "kinds": folded})
            return [as_edge(item, rates, now) for item in rows]

    def decay(self, rates: Rates, now: datetime, *, store: bool) -> tuple[list[Faded], list[Faded]]:
        with self._pool.writing() if store else self._pool.reading() as db:
            entities = _faded_rows(db.execute(graph_sql.ENTITY_BASES), rates.of, now)
            relations = _faded_rows(db.execute(graph_sql.RELATION_BASES), lambda _: rates.edge, now)
            if store:
                db.executemany(graph_sql.STORE_CONFIDENCE, [(fact.current, key) for key, fact in entities])
                db.executemany(graph_sql.STORE_WEIGHT, [(fact.current, key) for key, fact in relations])
            return [fact for _, fact in entities], [fact for _, fact in relations]

    def plan_merge(
        self, names: Sequence[str], into: str, *, plan_id: str, actor: str, now: datetime, lifetime: timedelta
    ) -> Merged:
        with self._pool.writing() as db:
            target = _known(db, into)
            sources = _sources(db, names, target)
            items = [
                PlanItem("entity", key, one(db, graph_sql.ENTITY_VERSION, (key,)), "merged", {"into": target})
                for key in sources
            ]
            merge_plans.save(SqliteChanges(db), items, Planning(plan_id, MERGE, now, lifetime))
            db.execute(meta_sql.ADD_AUDIT, (to_micros(now), actor, "plan", plan_id, "{}", MERGE))
            return merging.preview(db, sources, target, plan_id)

    def merge(
        self,
        names: Sequence[str],
        into: str,
        rates: Rates,
        *,
        plan_id: str | None,
        receipt_id: str,
        actor: str,
        now: datetime,
    ) -> Merged:
        with self._pool.writing() as db:
            plan = None
            if plan_id is None:
                target = _known(db, into)
                sources = _sources(db, names, target)
            else:
                plan, target, sources = _planned_merge(db, plan_id, now)
            values = (receipt_id, plan_id, "merge", MERGE, actor, to_micros(now))
            receipt: int = one(db, gc_sql.ADD_RECEIPT, values)
            merge = merging.Merge(db, receipt, target, rates, now)
            merged = tuple(merge.take(source) for source in sources)
            if plan is not None:
                SqlitePlans(db).use(plan, receipt)
            counts = to_json({"entities": len(merged), "relations": merge.relations})
            db.execute(gc_sql.FILL_RECEIPT, (counts, "[]", receipt))
            uid, name = row(db, graph_sql.ENTITY_NAME, (target,))
            db.execute(meta_sql.ADD_AUDIT, (to_micros(now), actor, "merge", uid, counts, receipt_id))
            return Merged(uid, name, merged, merge.mentions, merge.relations, merge.joined, plan_id or "", receipt_id)

    def split(
        self,
        entity: str,
        thing: NamedThing,
        relations: Sequence[str],
        memories: Sequence[str],
        *,
        new_id: NewId,
        actor: str,
        now: datetime,
    ) -> Split:
        with self._pool.writing() as db:
            old = _known(db, entity)
            kind = thing.type or row(db, graph_sql.ENTITY_TYPE, (old,))[0]
            names = (name_key(thing.name), name_key(kind))
            if (taken := one(db, graph_sql.LIVE_NAMED, names)) is not None:
                raise Conflict(f"{thing.name!r:.60} exists already as {taken}.", hint="Choose another name or type.")
            db.execute(graph_sql.DROP_ALIAS, names)
            uid, at = new_id("ent"), to_micros(now)
            new = one(db, graph_sql.ADD_ENTITY, (uid, thing.name, names[0], kind, names[1], at, at))
            moved, mentions = merging.split(db, old, new, relations, memories)
            if not moved and not mentions:
                raise BadInput("nothing of the entity was chosen; nothing was changed.", hint="Name some relations.")
            db.execute(graph_sql.SEE_ENTITY, (at, old))
            db.execute(meta_sql.ADD_AUDIT, (at, actor, "unmerge", uid, "{}", entity))
            return Split(uid, thing.name, moved, mentions)


class _Writer:
    """One batch: what it makes, and what it finds there."""

    def __init__(self, db: apsw.Connection, rates: Rates, now: datetime, new_id: NewId) -> None:
        self._db, self._rates, self._now, self._new_id = db, rates, now, new_id
        self.created: list[str] = []

    def entity(self, thing: NamedThing) -> int:
        """The entity of that name (and type, if one is given), made or seen again."""
        key = name_key(thing.name)
        if thing.type:
            found = one(self._db, graph_sql.FIND_TYPED, (key, name_key(thing.type)))
        else:
            found = one(self._db, graph_sql.FIND_NAMED, (key,))
        at = to_micros(self._now)
        if found is not None:
            self._db.execute(graph_sql.SEE_ENTITY, (at, found))
            return int(found)
        kind, uid = thing.type or _DEFAULT_TYPE, self._new_id("ent")
        self.created.append(uid)
        made: int = one(self._db, graph_sql.ADD_ENTITY, (uid, thing.name, key, kind, name_key(kind), at, at))
        return made

    def relation(self, draft: RelationDraft) -> RelationOutcome:
        subject, target = (self._end(end) for end in (draft.subject, draft.object))
        key, at = name_key(draft.relation), to_micros(self._now)
        closed: list[Any] = []
        if draft.replaces:
            closed = self._db.execute(graph_sql.CLOSE_OTHERS, (at, subject, key, target)).fetchall()
        known = row(self._db, graph_sql.GET_RELATION, (subject, key, target))
        if known is None:
            uid, weight = self._new_id("rel"), draft.weight
            valid = at if draft.valid_at is None else to_micros(draft.valid_at)
            values = (uid, subject, target, draft.relation, key, weight, at, at, valid)
            relation: int = one(self._db, graph_sql.ADD_RELATION, values)
        else:
            relation, uid, base, seen = known
            days = age_days(from_micros(seen), self._now)
            told = None if draft.mention else draft.weight
            weight = restated(1.0 if base is None else base, self._rates.edge, days, told)
            self._db.execute(graph_sql.SET_WEIGHT, (weight, max(at, seen), relation))
        if draft.source:
            self._db.execute(sql.ADD_SOURCE, (relation, self._memory(draft.source)))
        names = [row(self._db, graph_sql.ENTITY_NAME, (end,))[1] for end in (subject, target)]
        state: RelationState = "created" if known is None else "strengthened"
        return RelationOutcome(
            uid,
            names[0],
            draft.relation,
            names[1],
            state,
            weight,
            tuple(str(item[0]) for item in closed),
        )

    def _memory(self, memory_id: str) -> int:
        found = one(self._db, graph_sql.FIND_MEMORY, (findable(memory_id),))
        if found is None:
            raise NotFound(f"memory {memory_id!r:.60}, the source of a fact, does not exist in this workspace.")
        return int(found)

    def _end(self, end: NamedThing | str) -> int:
        if not isinstance(end, str):
            return self.entity(end)
        known = _known(self._db, end)
        self._db.execute(graph_sql.SEE_ENTITY, (to_micros(self._now), known))
        return known


def _known(db: apsw.Connection, name: str) -> int:
    found = one(db, graph_sql.FIND_BY_UID, (name,))
    if found is None:
        found = one(db, graph_sql.FIND_NAMED, (name_key(name),))
    if found is None:
        raise NotFound(
            f"entity {name!r:.80} is not known in this workspace.", hint="graph_entities lists the entities."
        )
    return int(found)


def as_edge(item: Any, rates: Rates, now: datetime) -> Edge:
    """A row, with what it weighs now."""
    uid, subject, target, relation, base, seen, valid, invalid, sources = item
    last = from_micros(seen)
    weight = faded(1.0 if base is None else base, rates.edge, age_days(last, now))
    ends = [None if moment is None else from_micros(moment) for moment in (valid, invalid)]
    return Edge(uid, subject, target, relation, weight, last, ends[0], ends[1], tuple(json.loads(sources)))


def _sources(db: apsw.Connection, names: Sequence[str], target: int) -> list[int]:
    keys = list(dict.fromkeys(_known(db, name) for name in names))
    if not keys or target in keys:
        raise BadInput("name the entities that go, and another one that they go into.")
    return keys


def _planned_merge(db: apsw.Connection, plan_id: str, now: datetime) -> tuple[int, int, list[int]]:
    """A saved merge, if all of it is as it was then: half a merge would be worse than none."""
    key, items = merge_plans.load(SqliteChanges(db), plan_id, now)
    target = items[0].evidence["into"]
    for item in items:
        if one(db, graph_sql.ENTITY_VERSION, (item.key,)) != item.version:
            raise Conflict(
                f"an entity of plan {plan_id} changed since it was made; nothing was merged.", hint="Plan anew."
            )
    if one(db, graph_sql.ENTITY_VERSION, (target,)) is None:
        raise Conflict(f"what plan {plan_id} merges into is gone; nothing was merged.", hint="Plan anew.")
    return key, target, [item.key for item in items]


def _faded_rows(rows: Any, rate_of: Callable[[str], float], now: datetime) -> list[tuple[int, Faded]]:
    return [
        (key, Faded(uid, name, kind, base, faded(base, rate_of(kind), age_days(from_micros(seen), now))))
        for key, uid, name, kind, base, seen in rows
    ]


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
