"""Make the dependencies of the graph's steps from those of a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memsweep.clock import new_id
from memsweep.model.frozen import replace

if TYPE_CHECKING:
    from memsweep.graph.facts import GraphDependencies
    from memsweep.graph.whole_graph import WholeGraphDependencies
    from memsweep.model.search import HeldBack
    from memsweep.model.whole_graph import GraphSurvey
    from memsweep.services.access import Access


def graph_facts(access: Access[Any], *, create: bool = False, tier: str = "") -> GraphDependencies:
    """Return the dependencies of `graph.facts`."""
    from memsweep.graph.facts import GraphDependencies

    origin = access.origin(tier)
    store = access.create_store() if create else access.store
    rates = access.settings.graph.decay()
    back = access.quarantine.held_back(access.clock())
    return GraphDependencies(store.graph, access.actor, access.clock, new_id, rates, origin, back)


def whole_graph_of(access: Access[Any], *, create: bool = False) -> WholeGraphDependencies:
    """Return the dependencies of steps on the graph as a whole."""
    from memsweep.graph.whole_graph import WholeGraphDependencies

    facts = graph_facts(access, create=create)
    return WholeGraphDependencies(facts, access.store.whole_graph)


def surveyed_graph_of(access: Access[Any], back: HeldBack | None = None) -> WholeGraphDependencies:
    """Return the dependencies of steps that only look; a workspace that is not made yet has an empty graph."""
    from memsweep.graph.facts import GraphDependencies
    from memsweep.graph.whole_graph import WholeGraphDependencies

    if access.found() is not None:
        whole = whole_graph_of(access)
        return whole if back is None else replace(whole, graph=replace(whole.graph, back=back))
    nothing: Any = _NoGraph()
    facts = GraphDependencies(nothing, access.actor, access.clock, new_id, access.settings.graph.decay())
    return WholeGraphDependencies(facts, nothing)


class _NoGraph:
    def survey(self, *_: object) -> GraphSurvey:
        from memsweep.model.whole_graph import GraphSurvey

        return GraphSurvey((), ())
