"""The steps around the graph's decisions: relate, reinforce, look around, list by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import isclose
from typing import Any, Literal

from memsweep.errors import BadInput
from memsweep.graph import merge as merging
from memsweep.graph import relating
from memsweep.graph.merge import SplitRequest
from memsweep.graph.validate import contradictions, may_contradict, superseded
from memsweep.model.checks import fitting, one_line, share
from memsweep.model.decay import Rates, age_days, faded
from memsweep.model.graph import (
    Decayed,
    Doubt,
    Edge,
    Entity,
    EntityPage,
    FactCount,
    Faded,
    GraphBatch,
    GraphSurvey,
    Merged,
    NamedEntities,
    Reinforced,
    Reinforcement,
    Related,
    Split,
    by_name,
)
from memsweep.model.memory import NamedThing
from memsweep.model.origin import UNKNOWN, Origin, rank
from memsweep.model.paging import PageMark, cursor_after, mark_of, page_size, within
from memsweep.model.plan import Operation
from memsweep.model.quarantine import FactProvenance
from memsweep.model.search import HeldBack
from memsweep.model.text import name_key, refuse_lone_surrogate
from memsweep.model.times import from_micros, holding_at, holds, to_micros
from memsweep.store import journals
from memsweep.store.graph import Graph
from memsweep.store.quarantined import HeldGraph
from memsweep.store.rows import Rows, Values
from memsweep.store.things.graph import EntityRow, RelationRow

# Walking the graph outwards from an entity: breadth first, strongest relations first. It is handed its edges.


EdgesAt = Callable[[Collection[int]], list[Edge]]


@dataclass(frozen=True, slots=True)
class Walk:
    """The result of a walk: how many steps away each entity is, and the relations on the way."""

    distance: dict[int, int]
    edges: tuple[Edge, ...]


def walk(
    starts: Collection[int],
    edges_at: EdgesAt,
    *,
    depth: int,
    limit: int,
    min_weight: float,
    holding: Callable[[Edge], bool],
) -> Walk:
    """Entities within `depth` steps over relations that weigh enough and hold, and no more than `limit` of them beside
    the starts."""
    distance = dict.fromkeys(starts, 0)
    most = len(distance) + limit
    taken: dict[str, Edge] = {}
    border = list(distance)
    for step in range(1, depth + 1):
        met = (edge for edge in edges_at(border) if edge.weight >= min_weight)
        found = [edge for edge in met if holding(edge)]
        following: list[int] = []
        for edge in sorted(found, key=lambda edge: (-edge.weight, edge.id)):
            for here, there in ((edge.subject, edge.object), (edge.object, edge.subject)):
                if here in distance and there not in distance and len(distance) < most:
                    distance[there] = step
                    following.append(there)
            if edge.subject in distance and edge.object in distance:
                taken.setdefault(edge.id, edge)
        border = following
        if not border:
            break
    return Walk(distance, tuple(taken.values()))


_STRENGTH = ("last_seen", "current")
_OF_ENTITIES = ("key", "id", "name", "type", "confidence", *_STRENGTH)
_OF_RELATIONS = ("key", "id", "subject.name", "relation", "object.name", "weight", *_STRENGTH)
MAX_DEPTH = 10
MAX_LIMIT = 500
_SHOWN_FADED = 20
_LONGEST_SEARCH = 1000  # more than any name has
SORTS: dict[str, Callable[[Entity], tuple[float | str, ...]]] = {
    "confidence": lambda entity: (-entity.confidence, *by_name(entity)),
    "last_seen": lambda entity: (-entity.last_seen.timestamp(), *by_name(entity)),
    "relations": lambda entity: (-entity.relations, *by_name(entity)),
    "mentions": lambda entity: (-entity.mentions, *by_name(entity)),
    "name": by_name,
}


@dataclass(frozen=True, slots=True)
class GraphDependencies:
    """The dependencies of the graph's steps."""

    store: Graph
    actor: str
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    rates: Rates = field(default_factory=Rates)
    origin: Origin = UNKNOWN
    back: HeldBack | None = None
    """What is in quarantine or has expired, and is not recalled."""

    def held(self, moment: datetime | None) -> HeldGraph:
        """Return what is not recalled as of a moment; without one, what has expired is."""
        by = None if moment is None else to_micros(moment)
        return HeldGraph(self.store, None if self.back is None else self.back._replace(expired_by=by))

    def with_tiers(self, edges: Sequence[Edge]) -> tuple[Edge, ...]:
        found, known = self.store.fact_provenance([each.id for each in edges]) if edges else ((), {})

        def tier(fact: FactProvenance) -> str:
            by = (known.get(key or 0, UNKNOWN).tier for key in (fact.made.origin, *fact.stated_by))
            return max(by, key=rank)

        tiers = {fact.id: tier(fact) for fact in found}
        return tuple(each._replace(tier=tiers.get(each.id, UNKNOWN.tier)) for each in edges)

    def survey(self) -> tuple[GraphSurvey, datetime]:
        now = self.clock()
        return self.store.survey(self.rates, now), now

    def recalled(self) -> tuple[GraphSurvey, datetime]:
        """The same without what is in quarantine or has expired."""
        survey, now = self.survey()
        held = self.held(now)
        facts = held.facts([edge.id for edge in survey.edges])
        entities = held.entities([entity.key for entity in survey.entities])
        return GraphSurvey(
            tuple(entity for entity in survey.entities if entity.key not in entities),
            tuple(edge for edge in survey.edges if edge.id not in facts),
        ), now

    def operation(self) -> Operation:
        return Operation(self.actor, self.clock(), self.rates)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    start: Entity
    """With how often it is mentioned and how many facts it has in all."""
    entities: tuple[Entity, ...]
    walk: Walk
    facts: tuple[FactCount, ...] = ()
    """How many facts of each kind the start has, the most frequent first."""
    contradictions: tuple[Doubt, ...] = ()
    """Among the facts of the start."""


def relate(tools: GraphDependencies, batch: GraphBatch) -> Related:
    """Create or strengthen, all of it or nothing."""
    doing = tools.operation()
    with tools.store.changing(ahead=journals.asked_for(tools.origin)) as tx:
        done = relating.relate(tx, batch, doing, tools.new_id, tx.origins.key_of(tools.origin))
        if (event := done.event(doing.now, tools.actor)) is not None:
            tx.audit(event)
    return done


def reinforce(
    tools: GraphDependencies,
    from_entity: str,
    to_entity: str,
    relation: str,
    kind: Literal["confirm", "correct"],
    amount: float | None,
    reason: str,
) -> Reinforced:
    if kind not in ("confirm", "correct"):
        raise BadInput(f"kind must be confirm or correct, not {kind!r:.40}.")
    if amount is not None:
        share(amount, "amount")
    given = {"from_entity": from_entity, "to_entity": to_entity, "relation": relation, "reason": reason}
    refuse_lone_surrogate(given, "")
    said = (from_entity, relation, to_entity, kind, amount)
    asked = Reinforcement(*said, tools.rates.edge, tools.clock(), tools.actor, reason, tools.origin)
    with tools.store.changing(ahead=journals.asked_for(tools.origin)) as tx:
        done = relating.reinforce(tx, asked, tx.origins.key_of(asked.origin))
        tx.audit(asked.event(done.id))
    return done


def entities(
    tools: GraphDependencies,
    search: str | None,
    entity_type: str | None,
    min_confidence: float,
    sort_by: str,
    limit: int,
) -> tuple[list[Entity], int]:
    """Entities that match, in order, and how many there are."""
    if sort_by not in SORTS:
        raise BadInput(f"sort_by {sort_by!r:.40} is unknown.", hint=f"Use one of: {', '.join(SORTS)}.")
    share(min_confidence, "min_confidence")
    refuse_lone_surrogate(search, "search")
    refuse_lone_surrogate(entity_type, "type")
    fitting(search or "", "search", _LONGEST_SEARCH)
    now = tools.clock()
    asked = NamedEntities(name_key(search) if search else "", False, name_key(entity_type) if entity_type else "")
    found = [each for _, each in tools.store.named(asked, None, 0, tools.rates, now)]
    held = tools.held(now).entities([entity.key for entity in found])
    found = [entity for entity in found if entity.key not in held]
    found = [entity for entity in found if entity.confidence >= min_confidence]
    if by_counts := sort_by in ("relations", "mentions"):
        found = tools.store.counted(found)
    shown = sorted(found, key=SORTS[sort_by])[: within("limit", limit, MAX_LIMIT)]
    return shown if by_counts else tools.store.counted(shown), len(found)


def related(
    tools: GraphDependencies, entity: str, *, depth: int, limit: int, relation_types: Collection[str] | None
) -> Neighbourhood:
    """Return the entities that facts of now connect to an entity."""
    refuse_lone_surrogate(entity, "entity")
    refuse_lone_surrogate(list(relation_types or ()), "relation_types")
    now = tools.clock()
    start = tools.store.find(entity)
    found = walk(
        [start],
        recalled_edges(tools, relation_types, now, expired_by=now),
        depth=within("depth", depth, MAX_DEPTH),
        limit=within("limit", limit, MAX_LIMIT),
        min_weight=0.0,
        holding=holding_at(None, now),
    )
    reached = {each.key: each for each in tools.store.entities_at(found.distance, tools.rates, now)}
    others = sorted(
        (key for key in reached if key != start), key=lambda key: (found.distance[key], *by_name(reached[key]))
    )
    mentions, counts = tools.store.fact_counts(start)
    facts = sum(each.current + each.ended for each in counts)
    return Neighbourhood(
        replace(reached[start], mentions=mentions, relations=facts),
        tuple(reached[key] for key in others),
        replace(found, edges=tools.with_tiers(found.edges)),
        tuple(counts),
        contradictions_at(tools.store, start, counts, tools.rates, now),
    )


def recalled_edges(
    tools: GraphDependencies, relation_types: Collection[str] | None, moment: datetime, *, expired_by: datetime | None
) -> Callable[[Collection[int]], list[Edge]]:
    """The facts at some entities, but for those that are in quarantine, or have expired by a moment."""
    held = tools.held(expired_by)

    def edges_at(keys: Collection[int]) -> list[Edge]:
        edges = tools.store.edges_at(keys, relation_types or None, tools.rates, moment)
        back = held.facts([edge.id for edge in edges])
        return [edge for edge in edges if edge.id not in back]

    return edges_at


def decay(tools: GraphDependencies, node_threshold: float, edge_threshold: float, store: bool) -> Decayed:
    """Return what every fact counts now. To store it twice or every night changes nothing: the base stays."""
    now = tools.clock()
    if not store:
        entities, relations = tools.store.at_one_moment(lambda reads: faded_facts(reads.rows, tools.rates, now))
    else:
        with tools.store.changing() as tx:
            entities, relations = faded_facts(tx.rows, tools.rates, now)
            for row, found in ((EntityRow, entities), (RelationRow, relations)):
                changed = {key: (fact.current,) for key, fact, stored in found if not _is_stored(fact, stored)}
                tx.rows.change(row, ("current",), changed, bin="live")
    return _decayed(
        [fact for _, fact, _ in entities], [fact for _, fact, _ in relations], node_threshold, edge_threshold
    )


_Fading = list[tuple[int, Faded, float | None]]


def faded_facts(rows: Rows, rates: Rates, now: datetime) -> tuple[_Fading, _Fading]:
    """Every entity, and every relation of known weight, with what it counts now and what is stored of that."""
    entities, relations = rows.ask(
        Values(EntityRow, _OF_ENTITIES), Values(RelationRow, _OF_RELATIONS, (("weight", "known", None),))
    )
    named = [
        (key, uid, f"{subject} {relation} {target}", relation, *said)
        for key, uid, subject, relation, target, *said in sorted(relations)
    ]
    return _faded(sorted(entities), rates.of, now), _faded(named, lambda _: rates.edge, now)


def _faded(rows: Iterable[Sequence[Any]], rate_of: Callable[[str], float], now: datetime) -> _Fading:
    return [
        (key, Faded(uid, name, kind, base, faded(base, rate_of(kind), age_days(from_micros(seen), now))), stored)
        for key, uid, name, kind, base, seen, stored in rows
    ]


def _is_stored(fact: Faded, stored: float | None) -> bool:
    """A graph tells fifteen digits."""
    return stored is not None and isclose(stored, fact.current, rel_tol=1e-14)


def _decayed(
    entities: Sequence[Faded], relations: Sequence[Faded], node_threshold: float, edge_threshold: float
) -> Decayed:
    lost = sorted((*entities, *relations), key=lambda fact: (fact.current - fact.base, fact.id))
    return Decayed(
        entities=len(entities),
        relations=len(relations),
        entities_below=sum(fact.current < node_threshold for fact in entities),
        relations_below=sum(fact.current < edge_threshold for fact in relations),
        faded=tuple(fact for fact in lost[:_SHOWN_FADED] if fact.current < fact.base),
    )


def plan_merge(tools: GraphDependencies, ids: Sequence[str], into: str, lifetime: timedelta) -> Merged:
    """Look before several entities become one."""
    refuse_lone_surrogate([*ids, into], "an entity")
    return merging.plan_merge(tools.store, ids, into, tools.new_id("plan"), lifetime, tools.operation())


def merge(tools: GraphDependencies, ids: Sequence[str], into: str, plan_id: str | None) -> Merged:
    refuse_lone_surrogate([*ids, into, plan_id], "an entity")
    return merging.merge(tools.store, ids, into, plan_id, tools.new_id("rcpt"), tools.operation())


def plan_split(tools: GraphDependencies, wanted: SplitRequest) -> Split:
    """Look before a part of an entity becomes one of its own."""
    return merging.look_at_split(tools.store, _checked(wanted))


def split(tools: GraphDependencies, wanted: SplitRequest) -> Split:
    ids = tools.new_id("ent"), tools.new_id("rcpt")
    return merging.split(tools.store, _checked(wanted), *ids, tools.operation())


def _checked(wanted: SplitRequest) -> SplitRequest:
    refuse_lone_surrogate([wanted.entity, *wanted.relations, *wanted.memories], "an id")
    name, kind = one_line(wanted.thing.name, "name"), wanted.thing.type
    return wanted._replace(thing=NamedThing(name, one_line(kind, "type") if kind else ""))


# Entities by name, page by page, and what an entity has: how many facts, and which contradict each other.


MOST_LISTED = 200
_BETWEEN = "\0"


def asked_for(search: str, entity_type: str, *, prefix: bool) -> NamedEntities:
    for what, text in (("search", search), ("entity_type", entity_type)):
        if not isinstance(text, str) or len(text) > _LONGEST_SEARCH:
            raise BadInput(f"{what} must be text of at most {_LONGEST_SEARCH:,} characters, not {text!r:.40}.")
        refuse_lone_surrogate(text, what)
    return NamedEntities(name_key(search) if search.strip() else "", prefix, name_key(entity_type))


def list_entities(
    store: Graph, asked: NamedEntities, rates: Rates, now: datetime, *, limit: int, cursor: str | None
) -> EntityPage:
    """A page goes on from the name of the last one, whatever was added or removed meanwhile."""
    page_size(limit, MOST_LISTED)
    listing = f"entities\0{asked}"
    after = mark_of(cursor, listing) or PageMark(0, 0, store.count_named(asked))
    name, _, kind = after.name.partition(_BETWEEN)
    found = store.named(asked, (name, kind) if cursor else None, limit + 1, rates, now)
    shown, passed = found[:limit], after.passed + len(found[:limit])
    following = None
    if len(found) > limit:
        following = cursor_after(PageMark(0, passed, after.total, _BETWEEN.join(shown[-1][0])), listing)
    counted = store.counted([each for _, each in shown])
    return EntityPage(tuple(counted), after.passed, max(after.total, passed), following)


def contradictions_at(
    store: Graph, key: int, counts: Sequence[FactCount], rates: Rates, now: datetime
) -> tuple[Doubt, ...]:
    """Of the facts that an entity has itself; only those of kinds that can contradict each other are read."""
    kinds = {each.relation for each in counts if each.ended or may_contradict(each.relation)}
    if not kinds:
        return ()
    edges = store.edges_at([key], kinds, rates, now)
    ends: Iterable[int] = {end for edge in edges for end in (edge.subject, edge.object)}
    entities = {each.key: each for each in store.entities_at(list(ends), rates, now)}
    current = [edge for edge in edges if holds(edge, now) and edge.subject in entities and edge.object in entities]
    return tuple(contradictions(current, entities, superseded(edges)))
