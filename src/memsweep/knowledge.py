"""The operations on the knowledge graph of a workspace; `Memory` has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from memsweep.clock import new_id, now

if TYPE_CHECKING:
    from memsweep.app import App
    from memsweep.graph.facts import Graphing, Neighbourhood
    from memsweep.model.decay import Rates
    from memsweep.model.graph import Entity, GraphBatch, Reinforced, Related


class GraphOperations:
    """Facts: stated, strengthened, corrected, walked."""

    _app: App
    workspace_id: str

    def relate(
        self,
        from_entity: str,
        relation: str,
        to_entity: str,
        *,
        from_type: str | None = None,
        to_type: str | None = None,
        weight: float = 1.0,
        valid_at: str | datetime | None = None,
        replaces: bool = False,
        source: str = "",
    ) -> Related:
        """State a fact; a known one grows stronger. `replaces` closes the other objects of subject and relation.

        `source` is the id of the memory that it comes from.
        """
        from memsweep.graph import batch, facts

        one = batch.one_relation(
            from_entity,
            to_entity,
            relation,
            from_type=from_type,
            to_type=to_type,
            weight=weight,
            valid_at=valid_at,
            replaces=replaces,
            source=source,
        )
        return facts.relate(self._graphing(write=_makes_workspace(one)), one)

    def relate_many(self, batch: Mapping[str, Any]) -> Related:
        """A batch of entities and relations, all or nothing."""
        from memsweep.graph import facts
        from memsweep.graph.batch import many_relations

        checked = many_relations(batch)
        return facts.relate(self._graphing(write=_makes_workspace(checked)), checked)

    def reinforce(
        self,
        from_entity: str,
        relation: str,
        to_entity: str,
        *,
        kind: Literal["confirm", "correct"] = "confirm",
        amount: float | None = None,
        reason: str = "",
    ) -> Reinforced:
        """Confirm a fact, or correct it; a correction does not make it look fresh."""
        from memsweep.graph import facts

        return facts.reinforce(self._graphing(), from_entity, to_entity, relation, kind, amount, reason)

    def entities(
        self,
        search: str | None = None,
        *,
        entity_type: str | None = None,
        min_confidence: float = 0.0,
        sort_by: str = "confidence",
        limit: int = 20,
    ) -> tuple[list[Entity], int]:
        """Entities by name and type, and how many match."""
        from memsweep.graph import facts

        return facts.entities(self._graphing(), search, entity_type, min_confidence, sort_by, limit)

    def related(
        self, entity: str, *, depth: int = 1, limit: int = 20, relation_types: Iterable[str] | None = None
    ) -> Neighbourhood:
        """What is connected to an entity by current facts."""
        from memsweep.graph import facts

        kinds = None if relation_types is None else list(relation_types)
        return facts.related(self._graphing(), entity, depth=depth, limit=limit, relation_types=kinds)

    def _graphing(self, *, write: bool = False) -> Graphing:
        from memsweep.graph.facts import Graphing

        engine = self._app.engine
        store = engine.open_or_create(self.workspace_id, now()) if write else engine.open(self.workspace_id)
        return Graphing(store.graph, self._app.actor, now, new_id, self._rates)

    @property
    def _rates(self) -> Rates:
        """How fast facts fade in this workspace."""
        return self._app.settings.graph.decay()


def _makes_workspace(batch: GraphBatch) -> bool:
    """A memory that a fact comes from is in a workspace that is there."""
    return not any(relation.source for relation in batch.relations)
