"""Entities and relations: what is handed in, what is stored, what a walk finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from memsweep.errors import NotFound
from memsweep.model.audit import AuditEvent
from memsweep.model.decay import Rates, age_days, clamp, faded
from memsweep.model.memory import NamedThing
from memsweep.model.origin import Origin
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
