"""The graph as a whole: what a survey of it says, and what is carried from one workspace to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from memsweep.model.checks import MOST_BYTES
from memsweep.model.graph import Edge, Entity
from memsweep.model.memory import Stats
from memsweep.model.search import Passage

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
