"""Entities and relations: what is handed in, what is stored, what a walk finds, and the graph as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from memsweep.errors import NotFound
from memsweep.model.audit import AuditEvent
from memsweep.model.checks import MOST_BYTES
from memsweep.model.decay import Rates, age_days, clamp, faded
from memsweep.model.memory import NamedThing, Stats
from memsweep.model.origin import Origin
from memsweep.model.search import Passage
from memsweep.model.times import from_micros, moment_or_none

RelationState = Literal["created", "strengthened"]


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation as it was handed in; its ends are things to create, or names of known ones."""

    subject: NamedThing | str
    relation: str
    object: NamedThing | str
    weight: float = 1.0
    valid_at: datetime | None = None
    replaces: bool = False
    source: str = ""
    """The id of the memory that it comes from."""
    mention: bool = False
    """Read in a text, not told: a known relation grows by a little, a new one begins at `weight`."""


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """All or nothing."""

    entities: tuple[NamedThing, ...]
    relations: tuple[RelationDraft, ...]

    @property
    def said(self) -> list[str]:
        """Every name in it."""
        ends = [end for each in self.relations for end in (each.subject, each.object)]
        return [end if isinstance(end, str) else end.name for end in (*self.entities, *ends)]


class RelationOutcome(NamedTuple):
    """The outcome of one relation of a batch."""

    id: str
    subject: str
    relation: str
    object: str
    state: RelationState
    weight: float
    superseded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Related:
    entities_created: tuple[str, ...]
    relations: tuple[RelationOutcome, ...]
    redacted: tuple[str, ...] = ()
    """The kinds of secrets that were not stored."""
    warnings: tuple[str, ...] = ()

    def event(self, now: datetime, actor: str) -> AuditEvent | None:
        """Return the log's event about it; None if everything was known."""
        new = [each.id for each in self.relations if each.state == "created"]
        if not new and not self.entities_created and not any(each.superseded for each in self.relations):
            return None
        counts = {"entities": len(self.entities_created), "relations": len(new)}
        subject = self.relations[0].id if len(self.relations) == 1 else ""
        return AuditEvent(now, actor, "relate", subject, counts, ids=self.entities_created)


@dataclass(frozen=True, slots=True)
class Reinforced:
    id: str
    old_weight: float
    new_weight: float


@dataclass(frozen=True, slots=True)
class Merged:
    """Entities that became one, or would; `joined` relations were there twice."""

    id: str
    name: str
    merged: tuple[str, ...]
    mentions: int
    relations: int
    joined: int
    plan_id: str = ""
    receipt_id: str = ""


@dataclass(frozen=True, slots=True)
class Split:
    """An entity that was made out of another, or would be: then it has no id, and no receipt."""

    id: str
    name: str
    relations: int
    mentions: int
    receipt_id: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity, with how sure we are of it now."""

    key: int
    id: str
    name: str
    type: str
    confidence: float
    base: float
    last_seen: datetime
    pinned: bool
    mentions: int
    relations: int


def by_name(entity: Entity) -> tuple[str, str, str]:
    """Return the sort key of an entity among its equals: by what every engine has, and compares alike."""
    return entity.name, entity.type, entity.id


class NamedEntities(NamedTuple):
    """A query for entities: a part of a name, or its beginning; in the forms that are compared."""

    search: str = ""
    is_prefix: bool = False
    type_key: str = ""


@dataclass(frozen=True, slots=True)
class EntityPage:
    """Entities in the order of their names."""

    entities: tuple[Entity, ...]
    first: int
    total: int
    next_cursor: str | None


class FactCount(NamedTuple):
    """The number of facts of one kind that an entity has: those that were not ended, and those that were."""

    relation: str
    outgoing: bool
    """Whether the entity is their subject."""
    current: int
    ended: int


class Faded(NamedTuple):
    """A fact that counts less now than when it was confirmed."""

    id: str
    name: str
    type: str
    base: float
    current: float


@dataclass(frozen=True, slots=True)
class Decayed:
    """The present weight of all facts; `faded` are those that lost most."""

    entities: int
    relations: int
    entities_below: int
    relations_below: int
    faded: tuple[Faded, ...]


class Reinforcement(NamedTuple):
    """Somebody confirms a fact, or corrects it, by `amount` or as much as is usual."""

    subject: str
    relation: str
    object: str
    kind: Literal["confirm", "correct"]
    amount: float | None
    rate: float
    now: datetime
    actor: str
    reason: str
    origin: Origin

    def event(self, relation_id: str) -> AuditEvent:
        return AuditEvent(self.now, self.actor, self.kind, relation_id, {}, self.reason)


class Edge(NamedTuple):
    """A relation of a walk, with what it weighs now."""

    id: str
    subject: int
    object: int
    relation: str
    weight: float
    last_seen: datetime
    valid_at: datetime | None
    invalid_at: datetime | None
    sources: tuple[str, ...] = ()
    """Live memories that it comes from."""
    tier: str = ""
    """How far the most trusted of those is trusted who state it, where that was looked up."""


def entity_now(row: Sequence[Any], rates: Rates, now: datetime) -> Entity:
    """An entity as it is stored, with how sure we are of it now."""
    key, uid, name, kind, base, seen, pinned, mentions, relations = row
    last = from_micros(seen)
    current = faded(base, rates.of(kind), age_days(last, now))
    return Entity(key, uid, name, kind, current, base, last, bool(pinned), mentions, relations)


def edges_now(rows: Iterable[Sequence[Any]], rates: Rates, now: datetime) -> Iterator[Edge]:
    """Relations as they are stored, with what they weigh now: most moments occur often, and each is made only once."""
    moments: dict[int | None, datetime | None] = {None: None}
    shares: dict[int, float] = {}
    for uid, subject, target, relation, base, seen, valid, invalid in rows:
        for micros in (seen, valid, invalid):
            if micros not in moments:
                moments[micros] = from_micros(micros)
        if seen not in shares:
            shares[seen] = faded(1.0, rates.edge, age_days(from_micros(seen), now))
        weight = clamp((1.0 if base is None else base) * shares[seen])
        yield Edge(uid, subject, target, relation, weight, moments[seen], moments[valid], moments[invalid])  # type: ignore[arg-type]


def edge_now(row: Sequence[Any], sources: Iterable[str], rates: Rates, now: datetime) -> Edge:
    """A relation as it is stored, with what it weighs now, and the ids of the memories that state it."""
    uid, subject, target, relation, base, seen, valid, invalid = row
    last = from_micros(seen)
    weight = faded(1.0 if base is None else base, rates.edge, age_days(last, now))
    held = moment_or_none(valid), moment_or_none(invalid)
    return Edge(uid, subject, target, relation, weight, last, *held, tuple(sources))


def unknown_entity(name: str) -> NotFound:
    return NotFound(f"entity {name!r:.80} is not known in this workspace.", hint="graph_entities lists the entities.")


# The graph as a whole: what a survey of it says, and what is carried from one workspace to another.


MAX_IMPORT_BYTES = MOST_BYTES["load.text"]
DoubtKind = Literal["generic_name", "near_duplicate", "dangling_fact", "contradiction"]


@dataclass(frozen=True, slots=True)
class GraphSurvey:
    """Every live entity and relation at one moment, ended facts included."""

    entities: tuple[Entity, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class GraphStatus:
    """Counts, shape and age. Shape is that of the facts that hold now; orphans have neither fact nor mention."""

    entities: int
    relations: int
    current_facts: int
    ended_facts: int
    pinned: int
    orphans: int
    components: int
    largest_component: int
    density: float
    by_type: Mapping[str, int]
    by_relation: Mapping[str, int]
    confidence_histogram: tuple[int, ...]
    weight_histogram: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something in the graph that deserves a look: what, about whom, and why."""

    kind: DoubtKind
    ids: tuple[str, ...]
    names: tuple[str, ...]
    why: str
    score: float


@dataclass(frozen=True, slots=True)
class Community:
    """Entities that have more to do with each other than with the rest, the most central first."""

    members: tuple[Entity, ...]
    inside: float
    outside: float


@dataclass(frozen=True, slots=True)
class Communities:
    found: tuple[Community, ...]
    modularity: float


@dataclass(frozen=True, slots=True)
class Briefing:
    """A summary of the graph for an agent, before it begins."""

    entities: int
    facts: int
    recent: tuple[Edge, ...]
    central: tuple[tuple[Entity, float], ...]
    contradictory: tuple[Doubt, ...]
    stale: tuple[Edge, ...]
    names: Mapping[int, str]


class ExportedEntity(NamedTuple):
    """An entity as it is carried away: all that is stored of it."""

    id: str
    name: str
    type: str
    confidence: float
    handed_in: bool
    pinned: bool
    created_at: datetime
    last_seen: datetime
    aliases: str | None = None
    """Other names that find it, each with a type, as JSON."""


class ExportedRelation(NamedTuple):
    """A relation as it is carried away; its ends are the ids of entities."""

    id: str
    source: str
    target: str
    relation: str
    weight: float | None
    evidence: int
    handed_in: bool
    created_at: datetime
    last_seen: datetime
    valid_at: datetime | None
    invalid_at: datetime | None


@dataclass(frozen=True, slots=True)
class GraphDump:
    """A whole graph, in an order of its own that does not depend on the store."""

    entities: tuple[ExportedEntity, ...]
    relations: tuple[ExportedRelation, ...]


@dataclass(frozen=True, slots=True)
class Exported:
    path: str
    format: str
    entities: int
    relations: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: what it made, and what was known (perhaps seen later or more often by now)."""

    entities_created: int
    entities_known: int
    relations_created: int
    relations_known: int
    redacted: tuple[str, ...] = ()
    """The kinds of secrets that were not stored."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkspaceBriefing:
    """The numbers of a workspace, the newest memories' beginnings, and the graph; without indexed files."""

    stats: Stats
    memories: tuple[Passage, ...]
    graph: Briefing
