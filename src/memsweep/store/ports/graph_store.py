"""What an engine does for the knowledge graph, fact by fact and as a whole."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

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
)
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.quarantine import EntityProvenance, FactProvenance
from memsweep.model.whole_graph import GraphDump, GraphSurvey, Imported
from memsweep.store.changes import Changes


class WholeGraph(Protocol):
    """The whole graph of a workspace. Every method is one transaction."""

    def survey(self, rates: Rates, now: datetime) -> GraphSurvey:
        """Every live entity and relation, with what they count now, in the order of their making."""

    def known_names(self, names: Collection[str]) -> dict[str, str]:
        """Of names in the form under which they are compared, those of entities, as they are written."""

    def dump(self) -> GraphDump:
        """All that is stored of the live graph."""

    def load(
        self, dump: GraphDump, new_id: Callable[[str], str], actor: str, now: datetime, origin: Origin = UNKNOWN
    ) -> Imported:
        """Take a graph in beside what is there, all of it or nothing. Of two the later confirmed counts."""


class Graph(Protocol):
    """The knowledge graph of a workspace. Every other method is one transaction."""

    def changing(self) -> AbstractContextManager[Changes]:
        """A transaction: read, decide, write; refused as a whole if somebody else wrote meanwhile."""

    def relate(
        self,
        batch: GraphBatch,
        rates: Rates,
        now: datetime,
        new_id: Callable[[str], str],
        actor: str,
        origin: Origin = UNKNOWN,
    ) -> Related:
        """Create or strengthen, all of it or nothing."""

    def reinforce(self, asked: Reinforcement) -> Reinforced: ...

    def find(self, name_or_id: str) -> int:
        """The key of an entity, or `NotFound`."""

    def entities(self, rates: Rates, now: datetime, search: str | None, entity_type: str | None) -> list[Entity]: ...

    def named(
        self, asked: NamedEntities, after: tuple[str, str] | None, limit: int, rates: Rates, now: datetime
    ) -> list[tuple[tuple[str, str], Entity]]:
        """Entities in the order of names and types, each with the two as they are compared; those after one."""

    def count_named(self, asked: NamedEntities) -> int: ...

    def fact_counts(self, key: int) -> tuple[int, list[FactCount]]:
        """How many chunks mention an entity, and how many facts of each kind it has."""

    def entities_at(self, keys: Collection[int], rates: Rates, now: datetime) -> list[Entity]: ...

    def edges_at(self, keys: Collection[int], kinds: Collection[str] | None, rates: Rates, now: datetime) -> list[Edge]:
        """Relations that begin or end at these entities, with what they weigh now."""

    def origins(self) -> dict[int, Origin]:
        """Every one that is known, by key."""

    def fact_provenance(self, ids: Collection[str]) -> list[FactProvenance]:
        """Who has stated live relations."""

    def expired_facts(self, by: int) -> set[str]:
        """The ids of live relations that only memories state which have expired by a moment."""

    def entity_provenance(self, keys: Collection[int]) -> list[EntityProvenance]:
        """Who has made live entities, and what speaks of them."""

    def decay(self, rates: Rates, now: datetime, *, store: bool) -> tuple[list[Faded], list[Faded]]:
        """Every entity and every relation of known weight with what it counts now, kept beside its base if asked."""
