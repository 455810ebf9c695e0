"""The knowledge graph of a workspace: every method is one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from memsweep.model.contributing import reinforced, reinforcing, stating
from memsweep.model.decay import Rates
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
    edge_now,
    entity_now,
    unknown_entity,
)
from memsweep.model.ids import findable
from memsweep.model.memory import DEFAULT_TYPE, NamedThing
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.quarantine import EntityProvenance, FactProvenance, Provenance, with_mentions
from memsweep.model.text import name_key
from memsweep.model.times import to_micros
from memsweep.store.falkor import fading, gc_cypher, graph_cypher
from memsweep.store.falkor.auditing import add_event
from memsweep.store.falkor.changes import FalkorChanges
from memsweep.store.falkor.naming import Ends, Known, Names, Relations, fact_state, find_key, sole
from memsweep.store.falkor.origins import origin_key
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.journals import Origins
from memsweep.store.refusals import unknown_relation, unknown_source

NewId = Callable[[str], str]


class FalkorGraph:
    """Implements `memsweep.store.ports.graph_store.Graph`."""

    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph

    @contextmanager
    def changing(self) -> Iterator[FalkorChanges]:
        with self._graph.writing() as tx:
            yield FalkorChanges(tx)

    def relate(
        self, batch: GraphBatch, rates: Rates, now: datetime, new_id: NewId, actor: str, origin: Origin = UNKNOWN
    ) -> Related:
        with self._graph.writing() as tx:
            done = _Writer(tx, batch, rates, now, new_id, origin_key(tx, origin)).write()
            if (event := done.event(now, actor)) is not None:
                add_event(tx, event)
            return done

    def reinforce(self, asked: Reinforcement) -> Reinforced:
        with self._graph.writing() as tx:
            ends = (find_key(tx, asked.subject), name_key(asked.relation), find_key(tx, asked.object))
            relations = Relations(tx, [ends])
            found = relations.find(ends)
            if found is None:
                raise unknown_relation(asked.subject, asked.relation, asked.object)
            act = reinforcing(found.key, asked, fact_state(found.props), origin_key(tx, asked.origin))
            after = relations.contribute(found, act)
            if act.act == "confirm":
                _see_ends(tx, ends[::2], act.at, act.origin)
            relations.write()
            add_event(tx, asked.event(found.props["id"]))
            return reinforced(found.props["id"], act, after)

    def find(self, name_or_id: str) -> int:
        """The key of an entity by its id or its name."""
        return find_key(self._graph, name_or_id)

    def entities(self, rates: Rates, now: datetime, search: str | None, entity_type: str | None) -> list[Entity]:
        part = None if search is None else name_key(search)
        rows = [] if part is None else self._graph.ask(graph_cypher.ONCE_NAMED, search=part)
        wanted = {
            "search": part,
            "once_named": [key for (key,) in rows],
            "type": None if entity_type is None else name_key(entity_type),
        }
        return [entity_now(row, rates, now) for row in self._graph.ask(graph_cypher.ENTITIES, **wanted)]

    def named(
        self, asked: NamedEntities, after: tuple[str, str] | None, limit: int, rates: Rates, now: datetime
    ) -> list[tuple[tuple[str, str], Entity]]:
        name, kind = after or ("", "")
        values = {**self._named(asked), "name": name, "kind": kind, "limit": limit}
        rows = self._graph.ask(graph_cypher.NAMED, **values)
        return [((row[0], row[1]), entity_now(row[2:], rates, now)) for row in rows]

    def count_named(self, asked: NamedEntities) -> int:
        return int(self._graph.ask(graph_cypher.COUNT_NAMED, **self._named(asked))[0][0])

    def _named(self, asked: NamedEntities) -> dict[str, Any]:
        part = {"search": asked.search, "is_prefix": asked.is_prefix}
        rows = self._graph.ask(graph_cypher.ONCE_NAMED_SO, **part) if asked.search else []
        return {**part, "type": asked.type_key, "once_named": [key for (key,) in rows]}

    def fact_counts(self, key: int) -> tuple[int, list[FactCount]]:
        mentions, counts = self._graph.ask_all(
            (graph_cypher.COUNT_MENTIONS_OF, {"key": key}), (graph_cypher.FACT_COUNTS, {"key": key})
        )
        return mentions[0][0], [FactCount(*row) for row in counts]

    def entities_at(self, keys: Collection[int], rates: Rates, now: datetime) -> list[Entity]:
        rows = self._graph.ask(graph_cypher.ENTITIES_AT, keys=sorted(keys))
        return [entity_now(row, rates, now) for row in rows]

    def edges_at(self, keys: Collection[int], kinds: Collection[str] | None, rates: Rates, now: datetime) -> list[Edge]:
        """Relations that begin or end at these entities, with what they weigh now."""
        folded = None if kinds is None else [name_key(kind) for kind in kinds]
        rows = self._graph.ask(graph_cypher.EDGES_AT, keys=sorted(keys), kinds=folded)
        return [edge_now(row, sources, rates, now) for *row, sources in rows]

    def origins(self) -> dict[int, Origin]:
        return Origins(FalkorRows(self._graph)).known()

    def fact_provenance(self, ids: Collection[str]) -> list[FactProvenance]:
        rows = self._graph.ask(graph_cypher.FACT_PROVENANCE, ids=sorted(ids)) if ids else []
        return [FactProvenance(uid, Provenance(*made), by) for uid, *made, by in rows]

    def expired_facts(self, by: int) -> set[str]:
        return {uid for (uid,) in self._graph.ask(graph_cypher.EXPIRED_FACTS, expired_by=by)}

    def entity_provenance(self, keys: Collection[int]) -> list[EntityProvenance]:
        rows = self._graph.ask(graph_cypher.ENTITY_PROVENANCE, keys=sorted(keys)) if keys else []
        known = [row[0] for row in rows]
        found = self._graph.ask(graph_cypher.MENTION_PROVENANCE, keys=known) if known else []
        return with_mentions(((key, Provenance(*made), facts) for key, *made, facts in rows), found)

    def decay(self, rates: Rates, now: datetime, *, store: bool) -> tuple[list[Faded], list[Faded]]:
        return fading.decay(self._graph, rates, now, store=store)


class _Writer:
    """One batch: what it makes, and what it finds there."""

    def __init__(
        self, tx: Transaction, batch: GraphBatch, rates: Rates, now: datetime, new_id: NewId, origin: int | None
    ) -> None:
        self._origin = origin
        self._batch, self._rates, self._now, self._new_id = batch, rates, now, new_id
        self._tx, self._at = tx, to_micros(now)
        self._created: list[str] = []
        ends = [end for draft in batch.relations for end in (draft.subject, draft.object)]
        ids = [end for end in ends if isinstance(end, str)]
        things = [*batch.entities, *(end for end in ends if isinstance(end, NamedThing))]
        self._names = Names(tx, [*ids, *(thing.name for thing in things)])
        self._by_id = self._names.load_ids(ids) if ids else {}
        sources = sorted({findable(draft.source) for draft in batch.relations if draft.source})
        self._sources = dict(map(tuple, tx.ask(gc_cypher.MEMORY_KEYS, ids=sources))) if sources else {}
        self._stated: list[dict[str, int]] = []

    def write(self) -> Related:
        for thing in self._batch.entities:
            self._entity(thing)
        drafts = self._batch.relations
        entities = [self._ends(draft) for draft in drafts]
        places: list[Ends] = [
            (subject.key, name_key(draft.relation), target.key)
            for draft, (subject, target) in zip(drafts, entities, strict=True)
        ]
        relations = Relations(self._tx, places, to_anything=any(draft.replaces for draft in drafts))
        outcomes = [
            self._relation(relations, draft, place, ends)
            for draft, place, ends in zip(drafts, places, entities, strict=True)
        ]
        self._names.write()
        relations.write()
        self._tx.do(graph_cypher.ADD_SOURCE, self._stated)
        return Related(tuple(self._created), tuple(outcomes))

    def _entity(self, thing: NamedThing) -> Known:
        """The entity of that name (and type, if one is given), made or seen again."""
        found = self._names.find(thing)
        if found is not None:
            return self._seen(found)
        made, uid = NamedThing(thing.name, thing.type or DEFAULT_TYPE), self._new_id("ent")
        self._created.append(uid)
        return self._names.add(made, uid, self._at, confidence=1.0, explicit=True, origin=self._origin)

    def _ends(self, draft: RelationDraft) -> tuple[Known, Known]:
        ends = self._end(draft.subject), self._end(draft.object)
        if draft.source and draft.source not in self._sources:
            raise unknown_source(draft.source)
        return ends

    def _end(self, end: NamedThing | str) -> Known:
        if isinstance(end, NamedThing):
            return self._entity(end)
        found = self._by_id.get(end) or self._names.surest(end)
        if found is None:
            raise unknown_entity(end)
        return self._seen(found)

    def _seen(self, entity: Known) -> Known:
        seen_at, origin = max(entity.props["last_seen"], self._at), sole(entity, self._origin)
        entity.change(handed_in=True, confidence=1.0, last_seen=seen_at, origin=origin)
        return entity

    def _relation(
        self, relations: Relations, draft: RelationDraft, place: Ends, ends: tuple[Known, Known]
    ) -> RelationOutcome:
        closed = relations.close_others(place, self._at, self._origin) if draft.replaces else []
        known = relations.find(place)
        before = None if known is None else fact_state(known.props)
        if known is None:
            uid = self._new_id("rel")
            valid = self._at if draft.valid_at is None else to_micros(draft.valid_at)
            values = {"weight": draft.weight, "handed_in": not draft.source, "valid_at": valid, "origin": self._origin}
            fact = relations.add(place, draft.relation, uid, self._at, **values)
        else:
            fact, uid = known, known.props["id"]
        memory = self._sources[draft.source] if draft.source else None
        act = stating(fact.key, draft, self._rates.edge, self._at, before, self._origin, memory)
        weight = relations.contribute(fact, act).weight or 0.0
        if memory is not None:
            self._stated.append({"memory": memory, "subject": place[0], "relation": fact.key})
        names = [end.props["name"] for end in ends]
        state = "created" if known is None else "strengthened"
        return RelationOutcome(uid, names[0], draft.relation, names[1], state, weight, tuple(closed))  # type: ignore[arg-type]


def _see_ends(tx: Transaction, ends: Collection[int], at: int, origin: int | None) -> None:
    """A relation from an entity to itself sees it twice."""
    seen = {"at": at, "origin": origin or 0}
    tx.do(graph_cypher.SEE_END, [{"key": key, "times": times, **seen} for key, times in Counter(ends).items()])
