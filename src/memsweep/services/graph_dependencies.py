"""Make the dependencies of the graph's steps from those of a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memsweep.clock import new_id
from memsweep.model.frozen import replace

if TYPE_CHECKING:
    from memsweep.graph.facts import GraphDependencies
    from memsweep.model.graph import GraphSurvey
    from memsweep.model.search import HeldBack
    from memsweep.services.access import Access


def graph_facts(access: Access[Any], *, create: bool = False, tier: str = "") -> GraphDependencies:
    """Return the dependencies of `graph.facts`."""
    from memsweep.graph.facts import GraphDependencies

    origin = access.origin(tier)
    store = access.create_store() if create else access.store
    rates = access.settings.graph.decay()
    back = access.quarantine.held_back(access.clock())
    return GraphDependencies(store.graph, access.actor, access.clock, new_id, rates, origin, back)


def surveyed_graph_of(access: Access[Any], back: HeldBack | None = None) -> GraphDependencies:
    """Return the dependencies of steps that only look; a workspace that is not made yet has an empty graph."""
    from memsweep.graph.facts import GraphDependencies

    if access.found() is not None:
        tools = graph_facts(access)
        return tools if back is None else replace(tools, back=back)
    nothing: Any = _NoGraph()
    return GraphDependencies(nothing, access.actor, access.clock, new_id, access.settings.graph.decay())


class _NoGraph:
    def survey(self, *_: object) -> GraphSurvey:
        from memsweep.model.graph import GraphSurvey

        return GraphSurvey((), ())
